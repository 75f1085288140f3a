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
        var sums: [Count] = []
        for settlement in settlements {
            let job = settlement.job
            let outcome = settlement.outcome
            // Most often a batch is all of one kind.
            if sums.last.map({ $0.kind != job.kind.rawValue || $0.queue != job.queue || $0.outcome != outcome }) ?? true
            {
                sums.append(Count(queue: job.queue, kind: job.kind.rawValue, outcome: outcome))
            }
            sums[sums.count - 1].jobs += 1
            sums[sums.count - 1].wait_ms += max(0, job.startedAt.microseconds - job.runAt.microseconds) / 1000
            sums[sums.count - 1].run_ms += settlement.took.wholeMilliseconds
        }
        add(sums)
    }

    /// Adds sums; also those taken that could not be written yet.
    func add(_ sums: [Count]) {
        counts.withLock { counts in
            for sum in sums {
                let key = Key(queue: sum.queue, kind: sum.kind, outcome: sum.outcome)
                var count = counts[key] ?? Count(queue: key.queue, kind: key.kind, outcome: key.outcome)
                count.jobs += sum.jobs
                count.wait_ms += sum.wait_ms
                count.run_ms += sum.run_ms
                counts[key] = count
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
