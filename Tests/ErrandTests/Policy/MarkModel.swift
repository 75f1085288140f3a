@testable import Errand

/// A mark under test: the real one, or one with a known fault that the model must find.
protocol Mark {
    var starts: [Int64] { get }
    /// Below these nothing may wait, neither committed nor in a transaction that is still open.
    var published: [Int64] { get }
    /// The same for a worker that begins, with what its looks need not read.
    var stored: [Int64] { get }
    /// What a look below the marks is to read.
    var look: LowWaterMark.Look { get }
    @discardableResult
    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) -> Bool
    mutating func catchUp(with others: [Int64])
    mutating func found(_ lowest: [Int64?], by look: LowWaterMark.Look)
}

extension Mark {
    // A mark with a fault neither looks below itself nor takes in others.
    var look: LowWaterMark.Look { LowWaterMark().look }
    var stored: [Int64] { published }
    mutating func catchUp(with others: [Int64]) {}
    mutating func found(_ lowest: [Int64?], by look: LowWaterMark.Look) {}
}

extension LowWaterMark: Mark {}

/// Jumps to the newest job seen: loses those that commit late.
struct NaiveMark: Mark {
    private(set) var starts: [Int64] = [0, 0, 0, 0]
    var published: [Int64] { starts }

    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) -> Bool {
        starts = zip(starts, claim.positions).map { max($0, $1.max() ?? 0) }
        return true
    }
}

/// The real rule, but for full batches: takes what they have not read for read.
struct TrustingMark: Mark {
    private var mark = LowWaterMark()
    var starts: [Int64] { mark.starts }
    var published: [Int64] { mark.published }

    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) -> Bool {
        var claim = claim
        claim.isFull = false
        return mark.observe(claim, at: now)
    }
}

/// The real rule, but for the newest ids: takes the snapshot's `xmax` for the newest id given out.
struct SnapshotMark: Mark {
    private var mark = LowWaterMark()
    var starts: [Int64] { mark.starts }
    var published: [Int64] { mark.published }

    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) -> Bool {
        var claim = claim
        claim.latest = claim.xmax - 1
        return mark.observe(claim, at: now)
    }
}

/// The real rule, but for looks: takes all that a look has read for settled, the lines of a writer set aside too.
struct RashMark: Mark {
    private var mark = LowWaterMark()
    private var looked: [Int64] = [0, 0, 0, 0]
    var starts: [Int64] { mark.starts }
    var published: [Int64] { mark.published }
    var look: LowWaterMark.Look { .init(after: looked, upTo: starts, certain: starts) }

    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) -> Bool { mark.observe(claim, at: now) }
    mutating func found(_ lowest: [Int64?], by look: LowWaterMark.Look) {
        mark.found(lowest, by: look)
        for lane in lowest.indices where lowest[lane] == nil { looked[lane] = look.upTo[lane] }
    }
}

/// A random model of the queue: transactions that draw lines and end late, jobs that are moved to another priority, workers
/// that claim, claims that are rolled back after others have stepped over their rows, looks below the marks. A step is 10 ms.
///
/// Snapshots are PostgreSQL's: `xmax` is one above the newest id that has ended, so the newest transactions that run are
/// not among those listed.
enum MarkModel {
    /// Which snapshot a claim returns where nothing was due. Each statement of a claim has one of its own.
    enum Shown {
        case fromBeforeTheScan
        /// The fault that the model must find.
        case fromAfterTheScan
    }

    /// What becomes of a job that is handed back and keeps its position.
    enum HandBack {
        /// Claims find it apart from the line, and conclude nothing from one that brought such a job.
        case apart
        /// The fault that the model must find: it lies in the line as all others.
        case inLine
        /// The fault that the model must find: claims take its position for one that they have read up to.
        case conclusive
    }

    /// How often a waiting job was below a mark, and how many were never claimed.
    ///
    /// - Parameters:
    ///   - movesKeepPositions: the known fault that a job which moves takes its position along.
    ///   - shown: `fromAfterTheScan` is the known fault that an empty claim's snapshot is younger than its scan.
    ///   - restarts: workers are replaced by new ones, which begin at stored marks.
    ///   - handBack: `inLine` and `conclusive` are known faults.
    ///   - trustsScans: the known fault that a scan ahead is taken to have read to the end.
    static func run(
        seed: UInt64, mark: some Mark, movesKeepPositions: Bool = false, shown: Shown = .fromBeforeTheScan,
        restarts: Bool = false, handBack: HandBack = .apart, trustsScans: Bool = false
    ) -> (broken: Int, leftBehind: Int) {
        var random = SeededGenerator(seed: seed)
        var world = World(movesKeepPositions: movesKeepPositions, shown: shown, handBack: handBack)
        var workers = (0..<Int.random(in: 1...3, using: &random)).map { _ in Worker(mark: mark) }
        let longWriters = Double.random(in: 0..<0.2, using: &random)
        var broken = 0
        // As workers have stored them, some of which have left.
        var stored = [Int64](repeating: 0, count: 8)
        for step in 0..<400 {
            let now = Duration.milliseconds(step * 10)
            world.act(longWriters: longWriters, using: &random)
            let one = Int.random(in: workers.indices, using: &random)
            switch Double.random(in: 0..<1, using: &random) {
            case ..<0.1:
                workers[one].mark.catchUp(with: workers.randomElement(using: &random)!.mark.published)
            case ..<0.2:
                workers[one].look(in: world)
            case ..<0.3:
                world.claimInVain(using: &random)
            case ..<0.32:
                stored = zip(stored, workers[one].mark.stored).map(max)
            case ..<0.33 where restarts:
                workers[one] = Worker(mark: mark)
                workers[one].mark.catchUp(with: stored)
            case ..<0.38:
                world.handBack(using: &random)
            case ..<0.7:
                let limit = [1, 2, 3, 100].randomElement(using: &random)!
                let shown = workers[one].claim(
                    in: &world, limit: limit, writesFirst: Bool.random(using: &random),
                    // Others go on between one step of a claim and the next.
                    between: { $0.act(longWriters: longWriters, using: &random) })
                let other = Int.random(in: workers.indices, using: &random)
                if other != one {
                    // And before its answer is there.
                    workers[other].mark.observe(
                        workers[other].claim(in: &world, limit: limit, writesFirst: false, between: { _ in }), at: now)
                    workers[one].mark.catchUp(with: workers[other].mark.published)
                }
                workers[one].mark.observe(shown, at: now)
            case ..<0.75:
                let scan = workers[one].scanAhead(
                    in: &world, isTrusted: trustsScans,
                    between: { $0.act(longWriters: longWriters, using: &random) })
                workers[one].mark.observe(scan, at: now)
            default:
                break
            }
            for worker in workers {
                broken += world.waiting(below: worker.mark.published)
            }
        }
        for id in world.open.keys { world.end(id, commit: true) }
        for step in 400..<900 {
            let now = Duration.milliseconds(step * 10)
            if step % 10 == 0 { workers[0].look(in: world) }
            let one = step < 500 ? step % workers.count : 0
            // As a claim does whose worker has another connection.
            for other in workers.indices { workers[one].mark.catchUp(with: workers[other].mark.published) }
            workers[one].mark.observe(
                workers[one].claim(in: &world, limit: 3, writesFirst: false, between: { _ in }), at: now)
        }
        return (broken, world.available.count + world.handedBack.count)
    }

    struct World {
        let movesKeepPositions: Bool
        let shown: Shown
        let handBack: HandBack
        var nextTransaction: UInt64 = 1
        var latestEnded: UInt64 = 0
        var line: Int64 = 0
        /// Lines drawn by transactions that have not ended, with their priorities.
        var open: [UInt64: [Int64: Int]] = [:]
        var available: [Int64: Int] = [:]
        /// Lines under the locks of claims that will be rolled back: others step over them, looks see them.
        var locked: [UInt64: [Int64: Int]] = [:]
        /// Lines from which open transactions move jobs: others step over them, looks see them.
        var moving: [UInt64: [Int64: Int]] = [:]
        /// Lines that were: only a look finds them.
        var returned: Set<Int64> = []
        /// Lines that workers have claimed.
        var held: [Int64: Int] = [:]
        /// Lines that wait again, apart from the others.
        var handedBack: [Int64: Int] = [:]

        mutating func act(longWriters: Double, using random: inout SeededGenerator) {
            let ids = open.keys.sorted()
            let writers = ids.filter { locked[$0] == nil }
            switch Double.random(in: 0..<1, using: &random) {
            case ..<0.1:
                move(using: &random)
            case ..<0.3:
                begin()
            case ..<0.7:
                guard let id = writers.randomElement(using: &random) else { return }
                for _ in 0..<(Double.random(in: 0..<1, using: &random) < 0.8 ? 1 : 8) {
                    line += 1
                    open[id]![line] = Int.random(in: 1...4, using: &random)
                }
            default:
                guard let newest = ids.last, let any = ids.randomElement(using: &random) else { return }
                let isLate = Double.random(in: 0..<1, using: &random) > longWriters
                end(isLate ? any : newest, commit: Double.random(in: 0..<1, using: &random) < 0.9)
            }
        }

        /// A transaction gets its id here, before it draws its first line.
        @discardableResult
        mutating func begin() -> UInt64 {
            defer { nextTransaction += 1 }
            open[nextTransaction] = [:]
            return nextTransaction
        }

        /// A claim that will be rolled back.
        mutating func claimInVain(using random: inout SeededGenerator) {
            let lines = available.filter { _ in Bool.random(using: &random) }
            guard !lines.isEmpty else { return }
            locked[begin()] = lines
            for line in lines.keys { available[line] = nil }
        }

        /// A worker gives one of its jobs back, which keeps its line.
        mutating func handBack(using random: inout SeededGenerator) {
            guard let line = held.keys.sorted().randomElement(using: &random) else { return }
            if handBack == .inLine {
                available[line] = held[line]
            } else {
                handedBack[line] = held[line]
            }
            held = [:]
        }

        /// Up to `limit` lines of that priority, those that were handed back first. Returns whether any was.
        mutating func take(_ priority: Int, behind start: Int64, limit: Int) -> (lines: [Int64], isBack: Bool) {
            let back = handedBack.filter { $0.value == priority }.keys.sorted().prefix(limit)
            let due = available.filter { $0.value == priority && $0.key > start }.keys.sorted()
            let lines = back + due.prefix(limit - back.count)
            for line in lines {
                held[line] = priority
                available[line] = nil
                handedBack[line] = nil
            }
            return (Array(lines), !back.isEmpty)
        }

        /// A transaction moves a job that waits to another priority.
        private mutating func move(using random: inout SeededGenerator) {
            guard let old = available.keys.sorted().randomElement(using: &random) else { return }
            let id = begin()
            moving[id] = [old: available.removeValue(forKey: old)!]
            if !movesKeepPositions { line += 1 }
            open[id]![movesKeepPositions ? old : line] = Int.random(in: 1...4, using: &random)
        }

        mutating func end(_ id: UInt64, commit: Bool) {
            if let lines = moving.removeValue(forKey: id), !commit {
                available.merge(lines) { first, _ in first }
                returned.formUnion(lines.keys)
            }
            if let lines = locked.removeValue(forKey: id) {
                available.merge(lines) { first, _ in first }
                returned.formUnion(lines.keys)
            }
            latestEnded = max(latestEnded, id)
            let lines = open.removeValue(forKey: id) ?? [:]
            if commit { available.merge(lines) { first, _ in first } }
        }

        func snapshot(besides own: UInt64?) -> (xmax: UInt64, running: [UInt64]) {
            let xmax = latestEnded + 1
            return (xmax, open.keys.filter { $0 < xmax && $0 != own }.sorted())
        }

        /// All that waits, also under the locks of transactions that have not ended.
        var visible: [Int64: Int] {
            [locked, moving].flatMap(\.values).reduce(available) { $0.merging($1) { first, _ in first } }
        }

        /// How many jobs, committed or still in an open transaction, lie at or below the marks, but for those that only a look
        /// can find.
        func waiting(below marks: [Int64]) -> Int {
            var count = 0
            for (line, priority) in available where line <= marks[priority - 1] {
                count += returned.contains(line) ? 0 : 1
            }
            for lines in open.values {
                for (line, priority) in lines where line <= marks[priority - 1] { count += 1 }
            }
            return count
        }
    }

    struct Worker<M: Mark> {
        var mark: M
        /// A look whose answer is not there yet.
        var pending: (look: LowWaterMark.Look, lowest: [Int64?])?

        /// Sends a look, or takes in the answer of the last one.
        mutating func look(in world: World) {
            if let (look, lowest) = pending {
                mark.found(lowest, by: look)
                pending = nil
            } else {
                let look = mark.look
                let visible = world.visible
                let lowest = (1...4).map { priority in
                    visible.filter { $0.value == priority }.keys
                        .filter { $0 > look.after[priority - 1] && $0 <= look.upTo[priority - 1] }.min()
                }
                pending = (look, lowest)
            }
        }

        /// Scans the next ten positions behind each mark, and answers what that has shown.
        func scanAhead(
            in world: inout World, isTrusted: Bool, between: (inout World) -> Void
        ) -> LowWaterMark.Observation {
            let starts = mark.starts
            let high = world.line
            between(&world)
            let (xmax, running) = world.snapshot(besides: nil)
            let latest = world.nextTransaction - 1
            between(&world)
            let visible = world.visible
            let reached = (1...4).map { priority in
                let start = starts[priority - 1]
                let lowest = visible.filter { $0.value == priority }.keys
                    .filter { $0 > start && $0 <= start + 10 }.min()
                return lowest.map { $0 - 1 } ?? start + 10
            }
            return .init(
                high: high, latest: latest, xmax: xmax, running: running, positions: [[], [], [], []], isFull: false,
                starts: starts, reached: isTrusted ? nil : reached)
        }

        /// Claims, and answers what that has shown.
        func claim(
            in world: inout World, limit: Int, writesFirst: Bool, between: (inout World) -> Void
        ) -> LowWaterMark.Observation {
            let starts = mark.starts
            // Ends that are written in the same transaction have given it an id before the claim begins.
            var own = writesFirst ? world.begin() : nil
            between(&world)
            let high = world.line
            between(&world)
            var (xmax, running) = world.snapshot(besides: own)
            var latest = own ?? world.nextTransaction - 1
            between(&world)
            var lines: [[Int64]] = [[], [], [], []]
            var left = limit
            var isConclusive = true
            for priority in 1...4 {
                let taken = world.take(priority, behind: starts[priority - 1], limit: left)
                lines[priority - 1] = taken.lines
                left -= taken.lines.count
                if taken.isBack, world.handBack == .apart { isConclusive = false }
            }
            if own == nil, left < limit { own = world.begin() }
            if left == limit, world.shown == .fromAfterTheScan {
                between(&world)
                (xmax, running) = world.snapshot(besides: own)
                latest = own ?? world.nextTransaction - 1
            }
            if let own { world.end(own, commit: true) }
            return .init(
                high: isConclusive ? high : 0, latest: latest, xmax: xmax, running: running, positions: lines,
                isFull: left == 0,
                starts: starts)
        }
    }
}
