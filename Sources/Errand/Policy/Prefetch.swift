/// How many jobs a worker prefetches: claims beyond those that it can begin at once.
///
/// With ten slots and jobs that take no time a worker would claim ten jobs, write ten ends, and commit for both: the
/// commits were all that it did. So it prefetches as many as begin within a ``moment``, judged by the slowest group of
/// attempts of late. One job of seconds is enough to prefetch none: what waits here behind it could run elsewhere. One
/// of milliseconds isn't, since any attempt may be held up for as long on a busy machine. And what waits takes memory:
/// large payloads are claimed a few at a time.
package struct Prefetch {
    /// The longest that a prefetched job should wait for its slot.
    package static let moment: Duration = .milliseconds(20)
    /// The most bytes of payloads that wait.
    package static let bytes = 16 << 20
    /// What of the slowest group is left after another one: a minute is forgotten after some 60 groups.
    private static let memory = 0.875

    /// The mean of the slowest group. Nil while nothing is known yet, or after jobs were found stuck.
    private var slowest: Duration?
    /// The mean payload of the group with the largest ones, in bytes.
    private var largest = 0

    package init() {}

    /// So many jobs were claimed, whose payloads have so many bytes all together.
    package mutating func claimed(_ count: Int, bytes: Int) {
        guard count > 0 else { return }
        largest = max(bytes / count, Int(Double(largest) * Self.memory))
    }

    /// So many attempts have ended, which took so long all together.
    package mutating func completed(_ count: Int, tookTogether total: Duration) {
        guard count > 0 else { return }
        slowest = max(total / count, (slowest ?? .zero) * Self.memory)
    }

    /// Prefetched jobs did wait long: until attempts end again, there are none.
    package mutating func stalled() { slowest = nil }

    /// The most jobs that a queue prefetches if the other queues of its worker hold so many.
    ///
    /// Of one queue four batches: two on their way, one that runs and one that has ended; more would only wait. Of all
    /// queues sixty-four: 40 MB of jobs with the default batch.
    package static func most(batch: Int, heldByOthers: Int) -> Int { max(0, min(4 * batch, 64 * batch - heldByOthers)) }

    /// How many jobs may wait here while `slots` run.
    package func count(slots: Int, atMost most: Int) -> Int {
        guard let slowest else { return 0 }
        let turns = Self.moment / max(slowest, .microseconds(1))
        return turns < 1 ? 0 : min(most, Int(turns) * slots, Self.bytes / max(1, largest))
    }
}
