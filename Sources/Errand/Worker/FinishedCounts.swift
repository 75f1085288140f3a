import Postgres
import Synchronization

/// Ended attempts since the last flush, by queue, kind and outcome.
final class FinishedCounts: Sendable {
    struct Key: Hashable, Sendable {
        let queue: String
        let kind: String
        let outcome: String
    }

    /// One element of errand.count_finished_v1's counts.
    struct Count: Encodable, Sendable {
        let queue: String
        let kind: String
        let outcome: String
        var jobs: Int64 = 0
        var wait_ms: Int64 = 0
        var run_ms: Int64 = 0
    }

    private let counts = Mutex<[Key: Count]>([:])

    func add(_ settlements: [Settlement]) {
        counts.withLock { counts in
            for settlement in settlements {
                let job = settlement.job
                let key = Key(queue: job.queue, kind: job.kind.rawValue, outcome: settlement.outcome)
                var count = counts[key] ?? Count(queue: key.queue, kind: key.kind, outcome: key.outcome)
                count.jobs += 1
                count.wait_ms += max(0, job.startedAt.microseconds - job.runAt.microseconds) / 1000
                count.run_ms += settlement.took.wholeMilliseconds
                counts[key] = count
            }
        }
    }

    /// Takes them back: they could not be written yet.
    func put(back taken: [Count]) {
        counts.withLock { counts in
            for count in taken {
                let key = Key(queue: count.queue, kind: count.kind, outcome: count.outcome)
                var sum = counts[key] ?? Count(queue: key.queue, kind: key.kind, outcome: key.outcome)
                sum.jobs += count.jobs
                sum.wait_ms += count.wait_ms
                sum.run_ms += count.run_ms
                counts[key] = sum
            }
        }
    }

    /// Takes what has come together.
    func take() -> [Count] {
        counts.withLock { counts in
            defer { counts = [:] }
            return counts.values.sorted { ($0.queue, $0.kind, $0.outcome) < ($1.queue, $1.kind, $1.outcome) }
        }
    }
}
