import Postgres

/// How an attempt ended, in its handler's words. An error that is thrown is a retry, unless it is permanent.
public enum Outcome: Sendable, Hashable {
    /// Done; the output, if any, is kept with the job.
    case done(output: JSONB?)
    /// Once more, after a pause of the handler's choice (nil = as the kind's policy says). Spends the attempt.
    case retry(after: Duration?, reason: String)
    /// Once more at a later time, without spending the attempt: nothing went wrong, it was too early.
    case snooze(for: Duration)
    /// See ``snooze(until:)``: two cases can't share a name in patterns.
    case snoozeUntil(Timestamp)
    /// What the job needs is down. It waits without spending the attempt, and counts as one failure of the dependency:
    /// three within 10 s open it for the whole fleet, `until` at once. Then one job a second tries it, and when that
    /// has succeeded the others go, oldest first. A dependency's name: a-z, then up to 99 of a-z 0-9 `_` `.` `-`.
    case park(dependency: String, until: Timestamp? = nil, reason: String = "found to be down")
    /// No longer wanted. Kept in the history with its reason.
    case cancel(reason: String)
    /// Failed for good: trying again is of no use. Kept among the failed jobs with its reason.
    case fail(reason: String)

    /// Once more at that moment by the database's clock, without spending the attempt.
    public static func snooze(until time: Timestamp) -> Outcome { .snoozeUntil(time) }

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

/// Thrown from deep inside a handler: what the job needs is down. Ends the attempt as
/// ``Outcome/park(dependency:until:reason:)``.
public struct DependencyDown: Error, Sendable, CustomStringConvertible {
    public let dependency: String
    /// When it may be tried again, where that is known.
    public let until: Timestamp?
    public let reason: String

    public init(_ dependency: String, until: Timestamp? = nil, reason: String) {
        self.dependency = dependency
        self.until = until
        self.reason = reason
    }

    public var description: String { "\(dependency) is down: \(reason)" }
}
