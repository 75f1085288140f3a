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
        var wait_histogram = Histogram()
        var run_histogram = Histogram()

        /// One attempt more, with its times in milliseconds.
        mutating func add(wait: Int64, run: Int64) {
            jobs += 1
            wait_ms += wait
            run_ms += run
            wait_histogram.add(milliseconds: wait)
            run_histogram.add(milliseconds: run)
        }

        mutating func add(_ other: Count) {
            jobs += other.jobs
            wait_ms += other.wait_ms
            run_ms += other.run_ms
            wait_histogram.add(other.wait_histogram)
            run_histogram.add(other.run_histogram)
        }
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
            sums[sums.count - 1].add(
                wait: job.waitedMicroseconds / 1000,
                run: settlement.took.wholeMilliseconds)
        }
        add(sums)
    }

    /// Adds sums; also those taken that could not be written yet.
    func add(_ sums: [Count]) {
        counts.withLock { counts in
            for sum in sums {
                let key = Key(queue: sum.queue, kind: sum.kind, outcome: sum.outcome)
                // In place: a copy would copy the histograms too.
                counts[key, default: Count(queue: key.queue, kind: key.kind, outcome: key.outcome)].add(sum)
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
