@testable import Errand

/// A mark under test: the real one, or one with a known fault that the model must find.
protocol Mark {
    var starts: [Int64] { get }
    /// Below these nothing may wait, neither committed nor in a transaction that is still open.
    var published: [Int64] { get }
    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration)
}

extension LowWaterMark: Mark {}

/// Jumps to the newest job seen: loses those that commit late.
struct NaiveMark: Mark {
    private(set) var starts: [Int64] = [0, 0, 0, 0]
    var published: [Int64] { starts }

    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) {
        starts = zip(starts, claim.lines).map { max($0, $1.max() ?? 0) }
    }
}

/// The real rule, but for full batches: takes what they have not read for read.
struct TrustingMark: Mark {
    private var mark = LowWaterMark()
    var starts: [Int64] { mark.starts }
    var published: [Int64] { mark.published }

    mutating func observe(_ claim: LowWaterMark.Observation, at now: Duration) {
        var claim = claim
        claim.isFull = false
        mark.observe(claim, at: now)
    }
}

/// A random model of the queue: transactions that draw lines and end late, workers that claim. A step is 10 ms.
enum MarkModel {
    /// How often a waiting job was below a mark, and how many were never claimed.
    static func run(seed: UInt64, mark: some Mark) -> (broken: Int, leftBehind: Int) {
        var random = SeededGenerator(seed: seed)
        var world = World()
        var workers = (0..<Int.random(in: 1...3, using: &random)).map { _ in Worker(mark: mark) }
        let longWriters = Double.random(in: 0..<0.2, using: &random)
        var broken = 0
        for step in 0..<600 {
            let now = Duration.milliseconds(step * 10)
            world.act(longWriters: longWriters, using: &random)
            if Double.random(in: 0..<1, using: &random) < 0.3 {
                let one = Int.random(in: workers.indices, using: &random)
                workers[one].claim(
                    in: &world, limit: [1, 2, 3, 100].randomElement(using: &random)!, at: now,
                    // Others go on between the reading of the line and the taking of the snapshot.
                    between: { $0.act(longWriters: longWriters, using: &random) })
            }
            for worker in workers {
                broken += world.waiting { line, priority in line <= worker.mark.published[priority - 1] }
            }
        }
        for id in world.open.keys { world.end(id, commit: true) }
        for step in 600..<1200 {
            let now = Duration.milliseconds(step * 10)
            let one = step < 700 ? step % workers.count : 0
            workers[one].claim(in: &world, limit: 3, at: now, between: { _ in })
        }
        return (broken, world.available.count)
    }

    struct World {
        var nextTransaction: UInt64 = 1
        var line: Int64 = 0
        /// Lines drawn by transactions that have not ended, with their priorities.
        var open: [UInt64: [Int64: Int]] = [:]
        var available: [Int64: Int] = [:]

        mutating func act(longWriters: Double, using random: inout SeededGenerator) {
            let ids = open.keys.sorted()
            switch Double.random(in: 0..<1, using: &random) {
            case ..<0.3:
                open[nextTransaction] = [:]
                nextTransaction += 1
            case ..<0.7:
                guard let id = ids.randomElement(using: &random) else { return }
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

        mutating func end(_ id: UInt64, commit: Bool) {
            let lines = open.removeValue(forKey: id) ?? [:]
            if commit { available.merge(lines) { first, _ in first } }
        }

        /// How many jobs, committed or still in an open transaction, meet the condition.
        func waiting(where condition: (Int64, Int) -> Bool) -> Int {
            ([available] + open.values).reduce(0) { $0 + $1.count { condition($0.key, $0.value) } }
        }
    }

    struct Worker<M: Mark> {
        var mark: M

        mutating func claim(in world: inout World, limit: Int, at now: Duration, between: (inout World) -> Void) {
            let starts = mark.starts
            let high = world.line
            between(&world)
            var lines: [[Int64]] = [[], [], [], []]
            var left = limit
            for priority in 1...4 {
                let due = world.available.filter { $0.value == priority && $0.key > starts[priority - 1] }
                lines[priority - 1] = due.keys.sorted().prefix(left).map { $0 }
                left -= lines[priority - 1].count
            }
            for line in lines.joined() { world.available[line] = nil }
            mark.observe(
                .init(
                    high: high, xmax: world.nextTransaction, running: world.open.keys.sorted(), lines: lines,
                    isFull: left == 0),
                at: now)
        }
    }
}

/// The same numbers for the same seed (SplitMix64, Steele, Lea and Flood 2014).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
