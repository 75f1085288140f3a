/// How many jobs a worker prefetches: it claims them before it has a slot for them.
///
/// With ten slots and jobs that take no time, a worker would claim ten jobs, write ten completions and commit, and
/// spend all its time on commits. So it prefetches as many jobs as begin within a ``moment``, judged by the slowest
/// recent group of attempts. One job that takes seconds stops prefetching, because jobs behind it could run on another
/// worker. One that takes milliseconds doesn't, because any attempt may be delayed that long on a busy machine. Waiting
/// jobs take memory, so large payloads are claimed a few at a time.
package struct Prefetch {
    /// The longest that a prefetched job should wait for its slot.
    package static let moment: Duration = .milliseconds(20)
    /// The most payload bytes of prefetched jobs.
    package static let bytes = 16 << 20
    /// The decay of the slowest group with each further one: a minute fades after some 60 groups.
    private static let memory = 0.875

    /// The mean of the slowest group. Nil while unknown, or after prefetched jobs waited too long.
    private var slowest: Duration?
    /// The mean payload of the group with the largest ones, in bytes.
    private var largest = 0

    package init() {}

    /// `count` jobs were claimed, with `bytes` of payload in total.
    package mutating func claimed(_ count: Int, bytes: Int) {
        guard count > 0 else { return }
        largest = max(bytes / count, Int(Double(largest) * Self.memory))
    }

    /// `count` attempts have completed, which took `total` together.
    package mutating func completed(_ count: Int, tookTogether total: Duration) {
        guard count > 0 else { return }
        slowest = max(total / count, (slowest ?? .zero) * Self.memory)
    }

    /// Prefetched jobs waited too long: none are prefetched until more attempts complete.
    package mutating func stalled() { slowest = nil }

    /// The most jobs that a queue prefetches while the other queues of its worker hold `heldByOthers`.
    ///
    /// Four batches per queue: two in transit, one running and one completed. More would only wait. Sixty-four batches
    /// over all queues: 40 MB of jobs with the default batch.
    package static func most(batch: Int, heldByOthers: Int) -> Int { max(0, min(4 * batch, 64 * batch - heldByOthers)) }

    /// How many jobs may wait for `slots` running ones.
    package func count(slots: Int, atMost most: Int) -> Int {
        guard let slowest else { return 0 }
        let rounds = Self.moment / max(slowest, .microseconds(1))
        return rounds < 1 ? 0 : min(most, Int(rounds) * slots, Self.bytes / max(1, largest))
    }
}
