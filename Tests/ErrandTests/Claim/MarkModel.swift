import ErrandTestKit

@testable import Errand

/// A mark under test: the real one, or one with a known fault that the model must find.
protocol Mark {
    var starts: [Int64] { get }
    /// Below these nothing may wait, neither committed nor in a transaction that is still open.
    var published: [Int64] { get }
    /// The same for a worker that begins, with what its scans need not read.
    var stored: [Int64] { get }
    /// The next scan below the marks.
    var nextScan: LowWaterMark.Scan { get }
    @discardableResult
    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) -> Bool
    mutating func catchUp(with others: [Int64])
    mutating func found(_ lowest: [Int64?], by scan: LowWaterMark.Scan)
}

extension Mark {
    // A mark with a fault neither scans below itself nor adopts others.
    var nextScan: LowWaterMark.Scan { LowWaterMark().nextScan }
    var stored: [Int64] { published }
    mutating func catchUp(with others: [Int64]) {}
    mutating func found(_ lowest: [Int64?], by scan: LowWaterMark.Scan) {}
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

/// The real rule, except for full batches: counts unread positions as read.
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

/// The real rule, except for the newest ids: takes the snapshot's `xmax` for the newest assigned id.
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

/// The real rule, except for scans: counts all scanned positions as resolved, even those of a writer that is skipped.
struct RashMark: Mark {
    private var mark = LowWaterMark()
    private var scanned: [Int64] = [0, 0, 0, 0]
    var starts: [Int64] { mark.starts }
    var published: [Int64] { mark.published }
    var nextScan: LowWaterMark.Scan { .init(after: scanned, upTo: starts, certain: starts) }

    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) -> Bool { mark.observe(claim, at: now) }
    mutating func found(_ lowest: [Int64?], by scan: LowWaterMark.Scan) {
        mark.found(lowest, by: scan)
        for index in lowest.indices where lowest[index] == nil { scanned[index] = scan.upTo[index] }
    }
}

/// A random model of the queue: transactions that draw positions and end late, jobs that are moved to another priority,
/// workers that claim, claims that are rolled back after others have skipped their rows, scans below the marks. A step
/// is 10 ms.
///
/// Snapshots are PostgreSQL's: `xmax` is one above the newest id that has ended, so the newest transactions that run
/// are not among those listed.
enum MarkModel {
    /// The snapshot that a claim without due jobs returns. Each statement of a claim has its own.
    enum Shown {
        case fromBeforeTheScan
        /// The fault that the model must find.
        case fromAfterTheScan
    }

    /// The order of a released job, which keeps its position.
    enum HandBack {
        /// Claims find it separately, and such a claim is inconclusive.
        case separate
        /// The fault that the model must find: the job is ordered like all others.
        case inOrder
        /// The fault that the model must find: claims take its position for one that they have read up to.
        case conclusive
    }

    /// How often a waiting job was below a mark, and how many were never claimed.
    ///
    /// - Parameters:
    ///   - movesKeepPositions: the known fault that a job which moves takes its position along.
    ///   - shown: `fromAfterTheScan` is the known fault that an empty claim's snapshot is younger than its scan.
    ///   - restarts: whether new workers replace old ones and begin at stored marks.
    ///   - handBack: `inOrder` and `conclusive` are known faults.
    ///   - trustsScans: the known fault that a scan ahead is taken to have read to the end.
    static func run(
        seed: UInt64, mark: some Mark, movesKeepPositions: Bool = false, shown: Shown = .fromBeforeTheScan,
        restarts: Bool = false, handBack: HandBack = .separate, trustsScans: Bool = false
    ) -> (broken: Int, leftBehind: Int) {
        var random = SeededGenerator(seed: seed)
        var world = World(movesKeepPositions: movesKeepPositions, shown: shown, handBack: handBack)
        var workers = (0..<Int.random(in: 1...3, using: &random)).map { _ in Worker(mark: mark) }
        let longWriters = Double.random(in: 0..<0.2, using: &random)
        var broken = 0
        // As stored by workers, some of which have stopped.
        var stored = [Int64](repeating: 0, count: 8)
        for step in 0..<400 {
            let now = Duration.milliseconds(step * 10)
            world.act(longWriters: longWriters, using: &random)
            let one = Int.random(in: workers.indices, using: &random)
            switch Double.random(in: 0..<1, using: &random) {
            case ..<0.1:
                workers[one].mark.catchUp(with: workers.randomElement(using: &random)!.mark.published)
            case ..<0.2:
                workers[one].scan(in: world)
            case ..<0.3:
                world.claimAndRollBack(using: &random)
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
                    // Other sessions continue between two steps of a claim.
                    between: { $0.act(longWriters: longWriters, using: &random) })
                let other = Int.random(in: workers.indices, using: &random)
                if other != one {
                    // And before its reply.
                    workers[other].mark.observe(
                        workers[other].claim(in: &world, limit: limit, writesFirst: false, between: { _ in }), at: now)
                    workers[one].mark.catchUp(with: workers[other].mark.published)
                }
                workers[one].mark.observe(shown, at: now)
            case ..<0.75:
                let scan = workers[one].scanAhead(
                    in: &world, isAssumed: trustsScans,
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
            // Scans of the smallest stride still read everything.
            workers[0].scan(in: world)
            let one = step < 500 ? step % workers.count : 0
            // Like a claim on the worker's other connection.
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
        var position: Int64 = 0
        /// Positions drawn by transactions that have not ended, with their priorities.
        var open: [UInt64: [Int64: Int]] = [:]
        var available: [Int64: Int] = [:]
        /// Positions locked by claims that will be rolled back: other claims skip them, scans see them.
        var locked: [UInt64: [Int64: Int]] = [:]
        /// Positions from which open transactions move jobs: other claims skip them, scans see them.
        var moving: [UInt64: [Int64: Int]] = [:]
        /// Positions that were locked so: only a scan finds them.
        var returned: Set<Int64> = []
        /// Positions that workers have claimed.
        var held: [Int64: Int] = [:]
        /// Positions of released jobs, separate from the others.
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
                    position += 1
                    open[id]![position] = Int.random(in: 1...4, using: &random)
                }
            default:
                guard let newest = ids.last, let any = ids.randomElement(using: &random) else { return }
                let isLate = Double.random(in: 0..<1, using: &random) > longWriters
                end(isLate ? any : newest, commit: Double.random(in: 0..<1, using: &random) < 0.9)
            }
        }

        /// A transaction gets its id here, before it draws its first position.
        @discardableResult
        mutating func begin() -> UInt64 {
            defer { nextTransaction += 1 }
            open[nextTransaction] = [:]
            return nextTransaction
        }

        /// A claim that will be rolled back.
        mutating func claimAndRollBack(using random: inout SeededGenerator) {
            let positions = available.keys.sorted().filter { _ in Bool.random(using: &random) }
            guard !positions.isEmpty else { return }
            locked[begin()] = available.filter { positions.contains($0.key) }
            for position in positions { available[position] = nil }
        }

        /// A worker releases one of its jobs, which keeps its position.
        mutating func handBack(using random: inout SeededGenerator) {
            guard let position = held.keys.sorted().randomElement(using: &random) else { return }
            if handBack == .inOrder {
                available[position] = held[position]
            } else {
                handedBack[position] = held[position]
            }
            held = [:]
        }

        /// Up to `limit` positions of that priority, those of jobs that were handed back first. Returns whether any
        /// was.
        mutating func take(_ priority: Int, behind start: Int64, limit: Int) -> (positions: [Int64], isBack: Bool) {
            let back = handedBack.filter { $0.value == priority }.keys.sorted().prefix(limit)
            let due = available.filter { $0.value == priority && $0.key > start }.keys.sorted()
            let positions = back + due.prefix(limit - back.count)
            for position in positions {
                held[position] = priority
                available[position] = nil
                handedBack[position] = nil
            }
            return (Array(positions), !back.isEmpty)
        }

        /// A transaction moves a job that waits to another priority.
        private mutating func move(using random: inout SeededGenerator) {
            guard let old = available.keys.sorted().randomElement(using: &random) else { return }
            let id = begin()
            moving[id] = [old: available.removeValue(forKey: old)!]
            if !movesKeepPositions { position += 1 }
            open[id]![movesKeepPositions ? old : position] = Int.random(in: 1...4, using: &random)
        }

        mutating func end(_ id: UInt64, commit: Bool) {
            if let positions = moving.removeValue(forKey: id), !commit {
                available.merge(positions) { first, _ in first }
                returned.formUnion(positions.keys)
            }
            if let positions = locked.removeValue(forKey: id) {
                available.merge(positions) { first, _ in first }
                returned.formUnion(positions.keys)
            }
            latestEnded = max(latestEnded, id)
            let positions = open.removeValue(forKey: id) ?? [:]
            if commit { available.merge(positions) { first, _ in first } }
        }

        func snapshot(besides own: UInt64?) -> (xmax: UInt64, running: [UInt64]) {
            let xmax = latestEnded + 1
            return (xmax, open.keys.filter { $0 < xmax && $0 != own }.sorted())
        }

        /// The positions of all waiting jobs, including those that open transactions have locked.
        var visible: [Int64: Int] {
            [locked, moving].flatMap(\.values).reduce(available) { $0.merging($1) { first, _ in first } }
        }

        /// How many jobs, committed or still in an open transaction, lie at or below the marks, except those that only
        /// a scan can find.
        func waiting(below marks: [Int64]) -> Int {
            var count = 0
            for (position, priority) in available where position <= marks[priority - 1] {
                count += returned.contains(position) ? 0 : 1
            }
            for positions in open.values {
                for (position, priority) in positions where position <= marks[priority - 1] { count += 1 }
            }
            return count
        }
    }

    struct Worker<M: Mark> {
        var mark: M
        /// A scan without a reply yet.
        var pending: (scan: LowWaterMark.Scan, lowest: [Int64?])?

        /// Sends a scan, or takes the reply of the last one.
        mutating func scan(in world: World) {
            if let (scan, lowest) = pending {
                mark.found(lowest, by: scan)
                pending = nil
            } else {
                let scan = mark.nextScan
                let visible = world.visible
                let lowest = (1...4).map { priority in
                    visible.filter { $0.value == priority }.keys
                        .filter { $0 > scan.after[priority - 1] && $0 <= scan.upTo[priority - 1] }.min()
                }
                pending = (scan, lowest)
            }
        }

        /// Scans the next ten positions behind each mark, and returns the result.
        func scanAhead(
            in world: inout World, isAssumed: Bool, between: (inout World) -> Void
        ) -> LowWaterMark.Observation {
            let starts = mark.starts
            let high = world.position
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
                starts: starts, reached: isAssumed ? nil : reached)
        }

        /// Claims, and returns the result.
        func claim(
            in world: inout World, limit: Int, writesFirst: Bool, between: (inout World) -> Void
        ) -> LowWaterMark.Observation {
            let starts = mark.starts
            // Ends that are written in the same transaction have given it an id before the claim begins.
            var own = writesFirst ? world.begin() : nil
            between(&world)
            let high = world.position
            between(&world)
            var (xmax, running) = world.snapshot(besides: own)
            var latest = own ?? world.nextTransaction - 1
            between(&world)
            var positions: [[Int64]] = [[], [], [], []]
            var left = limit
            var isConclusive = true
            for priority in 1...4 {
                let taken = world.take(priority, behind: starts[priority - 1], limit: left)
                positions[priority - 1] = taken.positions
                left -= taken.positions.count
                if taken.isBack, world.handBack == .separate { isConclusive = false }
            }
            if own == nil, left < limit { own = world.begin() }
            if left == limit, world.shown == .fromAfterTheScan {
                between(&world)
                (xmax, running) = world.snapshot(besides: own)
                latest = own ?? world.nextTransaction - 1
            }
            if let own { world.end(own, commit: true) }
            return .init(
                high: isConclusive ? high : 0, latest: latest, xmax: xmax, running: running, positions: positions,
                isFull: left == 0,
                starts: starts)
        }
    }
}
