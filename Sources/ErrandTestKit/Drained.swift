import Errand
import Postgres

/// The attempts that ``TestQueue/drain(within:limit:)`` has run, and the jobs that are left.
public struct Drained: Sendable {
    /// One attempt of one job.
    public struct Attempt: Sendable {
        /// The job's id.
        public let job: Int64
        public let kind: JobKind
        public let queue: String
        /// Counted from 1.
        public let number: Int
        /// The attempt's outcome.
        public internal(set) var outcome: AttemptOutcome
        /// What went wrong, or why the job was cancelled, parked or became obsolete.
        public internal(set) var reason: String?
        /// The handler's output; nil if the handler's transaction committed it. Then the job has it.
        public let output: JSONB?
        public let took: Duration

        init(_ completion: Completion) {
            job = completion.job.id
            kind = completion.job.kind
            queue = completion.job.queue
            number = completion.job.attempt
            outcome = completion.outcome
            reason = completion.error
            output = completion.output
            took = completion.took
        }
    }

    /// Every attempt, in the order of completion.
    public let attempts: [Attempt]
    /// The jobs that have not ended: scheduled, parked, in a paused queue, or of a kind without a handler.
    public let left: [RecordedJob]

    /// The outcome of each attempt, in the order of completion.
    public var outcomes: [AttemptOutcome] { attempts.map(\.outcome) }

    /// The attempts of jobs of one kind.
    public func attempts<J: Job>(of kind: J.Type) -> [Attempt] { attempts.filter { $0.kind == J.kind } }
}

extension Drained: CustomStringConvertible {
    /// One line per attempt, and one line per job that is left.
    public var description: String {
        let ran = attempts.map { "\($0)" }
        let rest = left.map { "left: \($0)" }
        return ran.isEmpty && rest.isEmpty ? "nothing ran, and nothing is left" : (ran + rest).joined(separator: "\n")
    }
}

extension Drained.Attempt: CustomStringConvertible {
    /// `job 4 send_receipt, attempt 1: retried: refused`
    public var description: String {
        "job \(job) \(kind), attempt \(number): \(outcome)" + (reason.map { ": \($0)" } ?? "")
    }
}

/// Jobs were still running or due when a drain's time limit was reached.
public struct NotDrained: Error, CustomStringConvertible {
    /// The time limit.
    public let limit: Duration
    /// The attempts until then.
    public let done: Drained

    public var description: String { "not drained within \(limit)\n\(done)" }
}
