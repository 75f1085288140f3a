import Errand
import Postgres

/// What a ``TestQueue/drain(within:limit:)`` has run, and what it has left.
public struct Drained: Sendable {
    /// One run of one job, from its claim to its end.
    public struct Attempt: Sendable {
        /// The job's id.
        public let job: Int64
        public let kind: JobKind
        public let queue: String
        /// Counted from 1.
        public let number: Int
        /// What became of it.
        public internal(set) var outcome: AttemptOutcome
        /// What went wrong, or why it was cancelled, parked or obsolete.
        public internal(set) var reason: String?
        /// What the handler answered; nil where that was committed with its transaction: it is with the job then.
        public let output: JSONB?
        public let took: Duration

        init(_ completion: Completion) {
            job = completion.job.id
            kind = completion.job.kind
            queue = completion.job.queue
            number = completion.job.attempt
            outcome = completion.outcome
            reason = completion.result.error
            output = completion.result.output
            took = completion.took
        }
    }

    /// Every attempt, in the order in which their ends were written.
    public let attempts: [Attempt]
    /// The jobs that have not ended: scheduled for later, parked, held, or of a kind without a handler.
    public let left: [RecordedJob]

    /// What became of each attempt, in the order in which their ends were written.
    public var outcomes: [AttemptOutcome] { attempts.map(\.outcome) }

    /// The attempts of jobs of one kind.
    public func attempts<J: Job>(of kind: J.Type) -> [Attempt] { attempts.filter { $0.kind == J.kind } }
}

extension Drained: CustomStringConvertible {
    /// A line an attempt, and a line a job that is left.
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

/// Jobs still ran, or were still due, when a drain's time was over.
public struct NotDrained: Error, CustomStringConvertible {
    /// How long it had.
    public let limit: Duration
    /// What had been done by then.
    public let done: Drained

    public var description: String { "not drained within \(limit)\n\(done)" }
}
