/// The position at which a worker's claims start to read a queue: no job waits below it.
///
/// A queue's index is read from its left end, where the entries of completed jobs lie. While any session holds an old
/// snapshot, these entries can be neither marked dead nor vacuumed. Every claim would visit all of them, 0.2 µs each,
/// and the queue would collapse. So each worker remembers, for every priority, up to where positions are resolved, and
/// starts there.
///
/// The mark is a hint in memory: 0 is always correct, only slower. These rules decide when it may move:
///
/// 1. A claim returns `high`, the newest drawn position, and `latest`, the newest assigned transaction id, read after
///    `high`. A transaction has its id before it draws a position. So a transaction that drew a position up to one
///    claim's `high` has an id up to the `latest` of the next claim. (The snapshot's `xmax` is no such bound: it is
///    only one above the newest id that has *ended*.)
/// 2. Once a snapshot shows that all ids up to that `latest` have ended, the positions up to that `high` are resolved:
///    each belongs to a job that is committed or rolled back. A claim whose snapshot shows this, and whose scan began
///    at or below the mark, has seen all of them, so the mark moves to `high`. After a full batch it moves only to the
///    batch's last position.
/// 3. A transaction that has run for longer than ``timeout`` is skipped and no longer holds the mark back. When it
///    ends, a rescan starts from where positions were resolved when it was skipped, and goes on while batches are
///    full. A long-running writer costs one longer scan at its end, not a collapse.
/// 4. A job that becomes available again (retry, schedule, rescue) draws a new position, so it is above every mark.
///
/// The mark can't see a claim that is rolled back after other claims skipped its locked rows. An occasional scan below
/// the marks, ``nextScan``, finds such jobs, and ``found(_:by:)`` takes its result. A position without a waiting job,
/// not even one under an open claim, will never have a waiting job again. So each scan begins where the last empty one
/// ended.
///
/// A claim that takes too long is rolled back and shows nothing. Behind millions of jobs of kinds that this worker
/// doesn't know, every claim would take too long. Then a scan of the next ``stride`` positions, which claims nothing,
/// moves the marks: ``Observation/reached``.
///
/// Snapshots without a transaction id (reports, pg_dump, idle sessions) don't hold the mark back.
package struct LowWaterMark: Sendable {
    /// How long a transaction may run before it is skipped.
    package static let timeout: Duration = .milliseconds(100)
    /// Priorities are 1 to 4; index 0 stands for 1.
    static let priorities = 4
    /// The most positions that a scan reads. It takes less than a second, dead entries included.
    package static let stride: Int64 = 1_000_000

    /// The result of one claim or scan ahead.
    package struct Observation: Sendable {
        /// The newest drawn position, read at the claim's start; 0 if the claim is inconclusive.
        package var high: Int64
        /// The newest assigned transaction id, or the claim's own. It is read in the claim's transaction, so after the
        /// last claim's `high`.
        package var latest: UInt64
        /// One above the newest transaction id that had ended when the claim's snapshot was taken.
        package var xmax: UInt64
        /// The transactions below `xmax` that ran then.
        package var running: [UInt64]
        /// The claimed positions, by priority (index 0 is priority 1), in any order.
        package var positions: [[Int64]]
        /// Whether the batch was full: then the last priority that was read, and those behind it, have not been read to
        /// their end.
        package var isFull: Bool
        /// The order in which the priorities were read, 1...4.
        package var priorities: [Int]
        /// The positions behind which it read, by priority.
        package var starts: [Int64]
        /// The positions up to which a scan ahead found nothing, by priority; nil for a claim.
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

    /// A scan below the marks. For each priority it reads the positions behind `after`, up to `upTo`.
    package struct Scan: Sendable {
        package let after: [Int64]
        package let upTo: [Int64]
        /// Up to here no writer that was skipped has positions. The scan can't see those.
        let certain: [Int64]

        /// Whether there is nothing to read: no position was resolved since the last scan.
        package var isEmpty: Bool { zip(after, upTo).allSatisfy(>=) }
    }

    private struct Rescan {
        var from: Int64
        /// Whether a scan below the marks requested it: the job it is to find is below other workers' marks as well.
        var isFound: Bool
    }

    private struct Writer {
        let firstSeen: Duration
        /// Where its rescan will start; nil while it still holds the mark back.
        var rescanFrom: Int64?
    }

    private var marks = [Int64](repeating: 0, count: priorities)
    private var rescans = [Rescan?](repeating: nil, count: priorities)
    /// Up to here a scan below the marks has found nothing.
    private var scanned = [Int64](repeating: 0, count: priorities)
    /// Positions up to here are resolved, except those of writers that are skipped.
    private var resolved: Int64 = 0
    /// The last claim's `high`.
    private var lastHigh: Int64 = 0
    /// The positions up to `high` are resolved once all transactions up to `latest` have ended; oldest first.
    private var pending: [(latest: UInt64, high: Int64)] = []
    private var writers: [UInt64: Writer] = [:]
    private let stride: Int64

    package init(stride: Int64 = Self.stride) { self.stride = stride }
}

// MARK: - Reading
extension LowWaterMark {
    /// The position behind which the next claim starts to read, for each priority.
    package var starts: [Int64] {
        zip(marks, rescans).map { mark, rescan in min(mark, rescan?.from ?? mark) }
    }

    /// Marks that are correct for another worker of the same kinds, which has no rescans and no skipped writers.
    package var published: [Int64] {
        let skipped = writers.values.compactMap(\.rescanFrom).min() ?? .max
        return starts.map { min($0, skipped) }
    }

    /// ``published``, followed by the end of the last empty scan below the marks, for each priority. They are for a
    /// worker that starts. Otherwise its first scan would read all dead entries from position 0 on, and time out.
    package var stored: [Int64] { published + scanned }

    /// The next scan below the marks.
    package var nextScan: Scan {
        Scan(after: scanned, upTo: zip(starts, scanned).map { min($0, $1 + stride) }, certain: published)
    }
}

// MARK: - Moving
extension LowWaterMark {
    /// Takes the result of a claim that began at ``starts``, as they were then or are now. `now` is any monotonic
    /// clock. Returns false if the sequence went back, on a restored or promoted server. Then all knowledge of
    /// positions is void, here and wherever it was adopted.
    @discardableResult
    package mutating func observe(_ claim: Observation, at now: Duration) -> Bool {
        // An inconclusive claim changes nothing.
        guard claim.high > 0 else { return true }
        // Marks that were adopted since the claim began are no measure.
        let isVoid = claim.high < max(lastHigh, claim.starts.max() ?? 0)
        if isVoid { self = LowWaterMark(stride: stride) }
        pending.append((claim.latest, lastHigh))
        lastHigh = claim.high
        let ended = skip(running: claim.running, at: now)
        resolve(upTo: oldestHolder(of: claim))
        advance(past: claim)
        for from in ended {
            for priority in 1...Self.priorities {
                rescan(priority: priority, from: from, isFound: false)
            }
        }
        return !isVoid
    }

    /// Adopts marks that another worker of the same kinds has published or stored. Otherwise the next claim of an idle
    /// worker would read all entries that other workers have completed.
    package mutating func catchUp(with known: [Int64]) {
        guard known.count == Self.priorities || known.count == 2 * Self.priorities else { return }
        let others = known.prefix(Self.priorities)
        for (index, position) in known.dropFirst(Self.priorities).enumerated() {
            scanned[index] = max(scanned[index], min(position, others[index]))
        }
        for index in others.indices {
            marks[index] = max(marks[index], others[index])
            if let rescan = rescans[index], !rescan.isFound { rescans[index]!.from = max(rescan.from, others[index]) }
        }
        // The adopted marks also hold for writers that were skipped here.
        let least = others.min() ?? 0
        resolved = max(resolved, least)
        writers = writers.mapValues { writer in
            Writer(firstSeen: writer.firstSeen, rescanFrom: writer.rescanFrom.map { max($0, least) })
        }
    }

    /// Starts the next claims of this priority behind `from` instead of at the mark.
    private mutating func rescan(priority: Int, from: Int64, isFound: Bool) {
        let other = rescans[priority - 1]
        rescans[priority - 1] = Rescan(from: min(other?.from ?? .max, from), isFound: isFound || other?.isFound == true)
    }

    /// Takes the result of a scan: the lowest waiting position of each priority, nil if there is none.
    package mutating func found(_ lowest: [Int64?], by scan: Scan) {
        let published = published
        for (index, position) in lowest.enumerated() {
            if let position {
                rescan(priority: index + 1, from: position - 1, isFound: true)
            } else {
                // At most the current marks: they may have become void since the scan.
                scanned[index] = max(scanned[index], min(scan.upTo[index], scan.certain[index], published[index]))
            }
        }
    }

    /// Skips writers that run too long. Returns where to start the rescans of those that have ended.
    private mutating func skip(running: [UInt64], at now: Duration) -> [Int64] {
        for id in running {
            let writer = writers[id] ?? Writer(firstSeen: now)
            let isSlow = now - writer.firstSeen > Self.timeout
            // The mark has not passed `resolved`, and this writer's positions are above it: it has held `resolved` back
            // so far.
            writers[id] = Writer(
                firstSeen: writer.firstSeen, rescanFrom: writer.rescanFrom ?? (isSlow ? resolved : nil))
        }
        guard writers.count > running.count else { return [] }
        let alive = Set(running)
        let ended = writers.filter { !alive.contains($0.key) }
        writers = writers.filter { alive.contains($0.key) }
        return ended.values.compactMap(\.rescanFrom)
    }

    /// The oldest transaction that may still hold the mark back. The snapshot says nothing of ids from `xmax` on.
    private func oldestHolder(of claim: Observation) -> UInt64 {
        claim.running.filter { writers[$0]?.rescanFrom == nil }.min().map { min($0, claim.xmax) } ?? claim.xmax
    }

    private mutating func resolve(upTo oldest: UInt64) {
        let count = pending.firstIndex { $0.latest >= oldest } ?? pending.count
        guard count > 0 else { return }
        resolved = max(resolved, pending[count - 1].high)
        pending.removeFirst(count)
    }

    private mutating func advance(past claim: Observation) {
        // A full batch has read the priorities before that of its last row to their end, that one up to its last
        // position, and later ones not at all.
        let cut = claim.isFull ? claim.priorities.lastIndex { !claim.positions[$0 - 1].isEmpty } : nil
        for (rank, priority) in claim.priorities.enumerated() {
            let index = priority - 1
            // A rescan that was requested since the claim began is still to be made.
            let isRescanned = claim.starts[index] <= rescans[index]?.from ?? .max
            // The position up to which the claim has read; nil is the end.
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
                if let rescan = rescans[index], isRescanned {
                    let isOpen = last < marks[index]
                    rescans[index] = isOpen ? Rescan(from: max(rescan.from, last), isFound: rescan.isFound) : nil
                }
                marks[index] = max(marks[index], min(last, resolved))
            } else {
                if isRescanned { rescans[index] = nil }
                marks[index] = max(marks[index], resolved)
            }
        }
    }
}
