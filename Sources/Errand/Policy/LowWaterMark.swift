/// Where a worker's claims start to read a queue: the position below which nothing is waiting.
///
/// A queue's index is read from its left end. Behind that end lie the entries of jobs that are done, and while any
/// session holds an old snapshot they can be neither marked nor vacuumed: every claim would visit them all, 0.2 µs
/// each, and the queue would collapse. So each worker remembers, for every priority, how far positions are settled, and
/// starts there.
///
/// The mark is a hint in memory: 0 is always right, only slower. What makes it exact is when it may move.
///
/// 1. A claim returns `high`, the newest position drawn, and `latest`, the newest transaction id given out, read later.
///    Whoever draws a position has its id already. So whoever drew a position up to one claim's `high` has an id up to
///    the `latest` of the next claim. (Not below the snapshot's `xmax`: that is only one above the newest id that has
///    *ended*.)
/// 2. Once a snapshot shows that all ids up to that `latest` have ended, the positions up to that `high` are settled:
///    each belongs to a job that is committed or rolled back. A claim whose own snapshot shows this, and whose scan
///    began at or below the mark, has seen all of them: the mark moves to `high`; after a full batch no further than
///    the batch's last position.
/// 3. A transaction that has been running for longer than ``timeout`` is set aside and holds nothing back any more.
///    When it ends, a sweep starts from where the positions were settled then, and goes on behind its last position
///    while batches come back full. A long writer costs one longer scan at its end, not a collapse.
/// 4. A job that comes back (retry, schedule, rescue) draws a new position, so it is above every mark.
///
/// One thing it can't see: a claim that was rolled back after others had stepped over its locked rows. For these there
/// is a look below the marks now and then, ``look``, and ``found(_:by:)`` takes what it has found. A position where
/// nothing waits, not even under a claim that is still open, will never have anything waiting again: each look begins
/// where the last one that found nothing ended.
///
/// A claim that takes too long is rolled back, with all that it has shown: behind millions of jobs of kinds that this
/// worker doesn't know it would take as long for ever. Then a scan of the next ``stride`` positions, which claims
/// nothing, moves the marks: ``Observation/reached``.
///
/// Snapshots without a transaction id (reports, pg_dump, forgotten sessions) hold it back in no way.
package struct LowWaterMark: Sendable {
    /// How long a transaction may run before it is set aside.
    package static let timeout: Duration = .milliseconds(100)
    /// Priorities are 1 to 4; index 0 stands for 1.
    static let priorities = 4
    /// How many positions a look or a scan ahead reads at most: less than a second's worth, dead entries too.
    package static let stride: Int64 = 1_000_000

    /// What one claim has shown.
    package struct Observation: Sendable {
        /// The newest position drawn, read at the claim's start; 0 where nothing may be concluded.
        package var high: Int64
        /// The newest transaction id given out, or the claim's own: read in the claim's transaction, so after the last
        /// claim's `high`.
        package var latest: UInt64
        /// One above the newest transaction id that had ended when the claim's snapshot was taken.
        package var xmax: UInt64
        /// The transactions below `xmax` that ran then.
        package var running: [UInt64]
        /// The positions that were claimed, by priority (index 0 stands for 1), in any order.
        package var positions: [[Int64]]
        /// Whether the batch was full: then priorities from the last one read on have not been read to their end.
        package var isFull: Bool
        /// The order in which the priorities were read, 1...4.
        package var priorities: [Int]
        /// Behind which positions it read, by priority.
        package var starts: [Int64]
        /// Up to which positions a scan ahead has found nothing, by priority; nil for a claim.
        package var reached: [Int64]?

        package init(
            high: Int64, latest: UInt64, xmax: UInt64, running: [UInt64], positions: [[Int64]], isFull: Bool,
            priorities: [Int] = [1, 2, 3, 4], starts: [Int64] = [0, 0, 0, 0], reached: [Int64]? = nil
        ) {
            self.high = high
            self.latest = latest
            self.xmax = xmax
            self.running = running
            self.positions = positions
            self.isFull = isFull
            self.priorities = priorities
            self.starts = starts
            self.reached = reached
        }
    }

    /// What a look below the marks is to read, for each priority: the positions behind `after`, up to `upTo`.
    package struct Look: Sendable {
        package let after: [Int64]
        package let upTo: [Int64]
        /// Up to here no writer that was set aside has positions, which the look can't see.
        let certain: [Int64]

        /// There is nothing to read: no position was settled since the last look.
        package var isEmpty: Bool { zip(after, upTo).allSatisfy(>=) }
    }

    private struct Sweep {
        var from: Int64
        /// A look has asked for it: what it is to find is hidden from others' marks as well.
        var isFound: Bool
    }

    private struct Writer {
        let firstSeen: Duration
        /// Where its sweep will start; nil while it still holds the positions back.
        var sweepFrom: Int64?
    }

    private var marks = [Int64](repeating: 0, count: priorities)
    private var sweeps = [Sweep?](repeating: nil, count: priorities)
    /// Up to here a look has found nothing.
    private var looked = [Int64](repeating: 0, count: priorities)
    /// Lines up to here are settled, but for those of writers set aside.
    private var settled: Int64 = 0
    /// The last claim's `high`.
    private var lastHigh: Int64 = 0
    /// What is settled once all transactions up to `latest` have ended, oldest first.
    private var pending: [(latest: UInt64, high: Int64)] = []
    private var writers: [UInt64: Writer] = [:]
    private let stride: Int64

    package init(stride: Int64 = Self.stride) { self.stride = stride }
}

// MARK: - Reading
extension LowWaterMark {
    /// Behind which position the next claim starts to read, for each priority.
    package var starts: [Int64] {
        zip(marks, sweeps).map { mark, sweep in min(mark, sweep?.from ?? mark) }
    }

    /// Marks that are right for another worker of the same kinds too, which knows of no sweep and of no writer set
    /// aside.
    package var published: [Int64] {
        let aside = writers.values.compactMap(\.sweepFrom).min() ?? .max
        return starts.map { min($0, aside) }
    }

    /// ``published``, and behind these, by priority, up to where a look has found nothing. For a worker that begins:
    /// else its first look would read all dead entries from position 0 on, and time out on them.
    package var stored: [Int64] { published + looked }

    /// What the next look below the marks is to read.
    package var look: Look {
        Look(after: looked, upTo: zip(starts, looked).map { min($0, $1 + stride) }, certain: published)
    }
}

// MARK: - Moving
extension LowWaterMark {
    /// Takes in what a claim has shown whose scan began at ``starts``, as they were then or are now. `now` is any clock
    /// that only moves forward. Answers false where the sequence went back, on another server, restored or promoted:
    /// what was known of positions is void, here and in whatever has taken it in.
    @discardableResult
    package mutating func observe(_ claim: Observation, at now: Duration) -> Bool {
        // It has not read the queue to its end: nothing may be concluded.
        guard claim.high > 0 else { return true }
        // Marks that were taken in since the claim began are no measure.
        let isVoid = claim.high < max(lastHigh, claim.starts.max() ?? 0)
        if isVoid { self = LowWaterMark(stride: stride) }
        pending.append((claim.latest, lastHigh))
        lastHigh = claim.high
        let ended = setAside(running: claim.running, at: now)
        settle(upTo: oldestHolder(of: claim))
        advance(past: claim)
        for from in ended {
            for priority in 1...Self.priorities {
                sweep(priority: priority, from: from, isFound: false)
            }
        }
        return !isVoid
    }

    /// Takes in marks that another worker of the same kinds has published or stored. Who claims seldom would else read,
    /// each time, over all that others have done meanwhile.
    package mutating func catchUp(with known: [Int64]) {
        guard known.count == Self.priorities || known.count == 2 * Self.priorities else { return }
        let others = known.prefix(Self.priorities)
        for (index, position) in known.dropFirst(Self.priorities).enumerated() {
            looked[index] = max(looked[index], min(position, others[index]))
        }
        for index in others.indices {
            marks[index] = max(marks[index], others[index])
            if let sweep = sweeps[index], !sweep.isFound { sweeps[index]!.from = max(sweep.from, others[index]) }
        }
        // What they say holds for writers that were set aside here as well.
        let least = others.min() ?? 0
        settled = max(settled, least)
        writers = writers.mapValues { writer in
            Writer(firstSeen: writer.firstSeen, sweepFrom: writer.sweepFrom.map { max($0, least) })
        }
    }

    /// Has the next claims of that priority start behind `from`, up to where the mark stands.
    private mutating func sweep(priority: Int, from: Int64, isFound: Bool) {
        let other = sweeps[priority - 1]
        sweeps[priority - 1] = Sweep(from: min(other?.from ?? .max, from), isFound: isFound || other?.isFound == true)
    }

    /// Takes in the lowest position of each priority that was waiting when `look` was made, nil where there was none.
    package mutating func found(_ lowest: [Int64?], by look: Look) {
        let published = published
        for (index, position) in lowest.enumerated() {
            if let position {
                sweep(priority: index + 1, from: position - 1, isFound: true)
            } else {
                // No further than the marks are now: they may have become void since.
                looked[index] = max(looked[index], min(look.upTo[index], look.certain[index], published[index]))
            }
        }
    }

    /// Sets aside the writers whose time is up; answers where the sweeps of those that have ended start.
    private mutating func setAside(running: [UInt64], at now: Duration) -> [Int64] {
        for id in running {
            let writer = writers[id] ?? Writer(firstSeen: now)
            let isSlow = now - writer.firstSeen > Self.timeout
            // The mark has not passed `settled`, and this writer's positions are above it: it has held `settled` back
            // so far.
            writers[id] = Writer(firstSeen: writer.firstSeen, sweepFrom: writer.sweepFrom ?? (isSlow ? settled : nil))
        }
        guard writers.count > running.count else { return [] }
        let alive = Set(running)
        let ended = writers.filter { !alive.contains($0.key) }
        writers = writers.filter { alive.contains($0.key) }
        return ended.values.compactMap(\.sweepFrom)
    }

    /// The oldest transaction that may still hold the positions back. From `xmax` on the snapshot doesn't tell.
    private func oldestHolder(of claim: Observation) -> UInt64 {
        claim.running.filter { writers[$0]?.sweepFrom == nil }.min().map { min($0, claim.xmax) } ?? claim.xmax
    }

    private mutating func settle(upTo oldest: UInt64) {
        let count = pending.firstIndex { $0.latest >= oldest } ?? pending.count
        guard count > 0 else { return }
        settled = max(settled, pending[count - 1].high)
        pending.removeFirst(count)
    }

    private mutating func advance(past claim: Observation) {
        // A full batch has read the priorities before its last row's to their end, that one up to its last position,
        // and those behind it not at all.
        let cut = claim.isFull ? claim.priorities.lastIndex { !claim.positions[$0 - 1].isEmpty } : nil
        for (rank, priority) in claim.priorities.enumerated() {
            let index = priority - 1
            // A sweep that was asked for since the claim began is still to be made.
            let isSwept = claim.starts[index] <= sweeps[index]?.from ?? .max
            // Up to where it has read; nil is to the end.
            let last: Int64?
            switch cut {
            case .some(let cut) where rank > cut:
                continue
            case rank:
                last = claim.positions[index].max()
            default:
                last = claim.reached?[index]
            }
            if let last {
                if let sweep = sweeps[index], isSwept {
                    let isOpen = last < marks[index]
                    sweeps[index] = isOpen ? Sweep(from: max(sweep.from, last), isFound: sweep.isFound) : nil
                }
                marks[index] = max(marks[index], min(last, settled))
            } else {
                if isSwept { sweeps[index] = nil }
                marks[index] = max(marks[index], settled)
            }
        }
    }
}
