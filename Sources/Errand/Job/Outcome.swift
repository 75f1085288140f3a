import Postgres

/// How an attempt ended, in its handler's words. An error that is thrown is a retry, unless it is permanent.
public enum Outcome: Sendable, Hashable {
    /// Done; the output, if any, is kept with the job.
    case done(output: JSONB?)
    /// Once more, after a pause of the handler's choice (nil = as the kind's policy says). Spends the attempt.
    case retry(after: Duration?, reason: String)
    /// Once more at a later time, without spending the attempt: nothing went wrong, it was too early.
    case snooze(for: Duration)
    /// No longer wanted. Kept in the history with its reason.
    case cancel(reason: String)
    /// Failed for good: trying again is of no use. Kept among the failed jobs with its reason.
    case fail(reason: String)

    /// Done, without an output.
    public static var done: Outcome { .done(output: nil) }

    /// Done, with an output of at most 256 KB as JSON.
    public static func done(_ output: some Encodable) throws -> Outcome {
        .done(output: try JSONB(encoding: output))
    }
}

/// An error that knows whether trying again is of use. Errors of other types are taken as worth a retry.
public protocol ClassifiedError: Error {
    /// True where the same attempt would fail again: the job fails at once, whatever attempts are left.
    var isPermanent: Bool { get }
}
