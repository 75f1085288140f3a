import Postgres
import Synchronization

/// Completed attempts since the last flush, by queue, kind and outcome.
package final class FinishedCounts: CommitTickets {
    struct Key: Hashable, Sendable {
        let queue: String
        let kind: String
        let outcome: AttemptOutcome
    }

    /// One element of errand_internal.count_finished_v1's counts.
    struct Count: Encodable, Sendable {
        let queue: String
        let kind: String
        let outcome: AttemptOutcome
        var jobs: Int64 = 0
        var wait_ms: Int64 = 0
        var run_ms: Int64 = 0
        var wait_histogram = Histogram()
        var run_histogram = Histogram()

        /// Adds an attempt, with its durations in milliseconds.
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

    /// Counts since the last flush, and the transactions whose completions they include.
    struct Taken: Sendable {
        let counts: [Count]
        let upTo: Int64
        let beyond: [Int64]
    }

    fileprivate struct State {
        var counts: [Key: Count] = [:]
        var transactions = CountedTransactions()
    }

    private let state = Mutex(State())

    package init() {}

    package func begin() -> CommitTicket { state.withLock { $0.transactions.begin() } }

    package func end(_ ticket: CommitTicket) { state.withLock { $0.transactions.end(ticket) } }

    /// Adds completions, with the transactions that wrote them.
    func add(_ completions: [Completion], by transactions: Set<Int64>) {
        var sums: [Count] = []
        for completion in completions {
            let job = completion.job
            let outcome = completion.outcome
            // Most often a batch is all of one kind.
            if sums.last.map({ $0.kind != job.kind.rawValue || $0.queue != job.queue || $0.outcome != outcome }) ?? true
            {
                sums.append(Count(queue: job.queue, kind: job.kind.rawValue, outcome: outcome))
            }
            sums[sums.count - 1].add(
                wait: job.waitedMicroseconds / 1000,
                run: completion.took.wholeMilliseconds)
        }
        let transactions = transactions.union(completions.compactMap(\.commit?.transaction))
        state.withLock { state in
            state.add(sums)
            for transaction in transactions { state.transactions.counted(transaction) }
        }
    }

    /// Takes the counts since the last flush.
    func take() -> Taken {
        state.withLock { state in
            defer { state.counts = [:] }
            let counts = state.counts.values.sorted {
                ($0.queue, $0.kind, $0.outcome.rawValue) < ($1.queue, $1.kind, $1.outcome.rawValue)
            }
            return Taken(counts: counts, upTo: state.transactions.upTo, beyond: state.transactions.beyond)
        }
    }

    /// Puts back counts that could not be written.
    func putBack(_ counts: [Count]) { state.withLock { $0.add(counts) } }

    /// Drops the counts since the last flush: maintenance counts them.
    func drop() { state.withLock { $0.counts = [:] } }
}

extension FinishedCounts.State {
    fileprivate mutating func add(_ sums: [FinishedCounts.Count]) {
        for sum in sums {
            let key = FinishedCounts.Key(queue: sum.queue, kind: sum.kind, outcome: sum.outcome)
            // In place: a copy would copy the histograms too.
            counts[key, default: FinishedCounts.Count(queue: key.queue, kind: key.kind, outcome: key.outcome)].add(sum)
        }
    }
}
