import Postgres

/// What a handler returns. A thrown error means a retry, unless the error is permanent.
public enum Outcome: Sendable, Hashable {
    /// The job succeeded. The output, if any, is stored with the job; one of more than 256 KB fails it for good.
    case done(output: JSONB?)
    /// Retries after a delay (nil: the delay of the kind's policy). Counts the attempt. Logs have the cause, a fixed
    /// word for this kind of failure, but not the reason, which may quote the payload.
    case retry(after: Duration?, reason: String, cause: String? = nil)
    /// Runs the job again after a delay, without counting the attempt: it was too early.
    case snooze(for: Duration)
    /// See ``snooze(until:)``. Two cases can't share a name in patterns.
    case snoozeUntil(Timestamp)
    /// What the job needs is down. The job waits, and the attempt is not counted. Three failures within 10 s open
    /// the circuit for all workers; `until` opens it at once, and ``Timestamp/infinity`` until an operator closes it.
    /// Then one job per second probes it, and after a success the parked jobs are released, oldest first. A circuit's
    /// name: a-z, then up to 99 of a-z 0-9 `_` `.` `-`.
    case unavailable(_ circuit: String, until: Timestamp? = nil, reason: String = "found to be down")
    /// Waits for a signal: `errand.signal`. The job holds no slot, and the attempt is not counted. It runs again from
    /// its beginning once the signal has come, or at `until`: ``JobContext/signal`` says which. `by` is the role whose
    /// members may send it, by default the login that the job belongs to; operators may always.
    case wait(for: String, until: Timestamp, by: String? = nil)
    /// The job is no longer wanted. It moves to the history with its reason.
    case cancel(reason: String)
    /// The job failed permanently: a retry would not help. It moves to the failed jobs with its reason. Logs have the
    /// cause, a fixed word for this kind of failure, but not the reason, which may quote the payload.
    case fail(reason: String, cause: String? = nil)

    /// Retries because of an error: its text is the reason, its type the cause.
    public static func retry(after delay: Duration?, _ error: any Error) -> Outcome {
        .retry(after: delay, reason: error.recordedText, cause: error.loggedClass)
    }

    /// The job failed permanently with an error: its text is the reason, its type the cause.
    public static func fail(_ error: any Error) -> Outcome {
        .fail(reason: error.recordedText, cause: error.loggedClass)
    }

    /// Runs the job again at this time of the database's clock, without counting the attempt. A job fails if that is
    /// more than 10 years away.
    public static func snooze(until time: Timestamp) -> Outcome { .snoozeUntil(time) }

    /// The job succeeded, without an output.
    public static var done: Outcome { .done(output: nil) }

    /// The job succeeded, with an output of at most 256 KB as JSON.
    ///
    /// - Throws: ``OutputTooLarge`` for a larger one, which fails the job for good; an `EncodingError`.
    public static func done(_ output: some Encodable) throws -> Outcome {
        .done(output: try JSONB(encoding: output).checkedAsOutput())
    }
}

/// What a job has waited for.
public struct ReceivedSignal: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// What came with it; nil if the time was over before.
    public let payload: JSONB?

    /// The payload as a `T`; nil if the time was over. Throws a `DecodingError` if it isn't one.
    public func payload<T: Decodable>(as type: T.Type) throws -> T? { try payload?.decode(type) }
}

/// A handler's output is larger than the 256 KB that are stored, so the job fails for good.
///
/// An output of many numbers may have more bytes in the database than as the handler's JSON: then the database refuses
/// it, with the same words.
public struct OutputTooLarge: ClassifiedError, CustomStringConvertible {
    public let description: String

    public var isPermanent: Bool { true }
}

extension JSONB {
    /// The document itself, if it may be an output.
    func checkedAsOutput() throws(OutputTooLarge) -> JSONB {
        guard bytes.count <= 262_144 else {
            throw OutputTooLarge(description: "output: expected at most 262144 bytes as text, got \(bytes.count)")
        }
        return self
    }
}

/// An error that knows whether a retry can succeed. Errors of other types are retried.
public protocol ClassifiedError: Error {
    /// True if the same attempt would fail again: then the job fails at once, whatever attempts are left.
    var isPermanent: Bool { get }
}

/// What the job needs is down. A handler that throws it has the outcome
/// ``Outcome/unavailable(_:until:reason:)``.
public struct Unavailable: Error, Sendable, CustomStringConvertible {
    public let circuit: String
    /// When it may be probed, if known.
    public let until: Timestamp?
    public let reason: String

    public init(_ circuit: String, until: Timestamp? = nil, reason: String) {
        self.circuit = circuit
        self.until = until
        self.reason = reason
    }

    public var description: String { "\(circuit) is down: \(reason)" }

    /// The outcome of a job that finds this out in the transaction that completes it.
    public var outcome: Outcome { .unavailable(circuit, until: until, reason: reason) }
}

/// The job could not be completed in its handler's transaction, so the transaction was rolled back.
public struct CompletionRefused: Error, Sendable, CustomStringConvertible {
    /// True if the job's guard rejected it; false if the job was cancelled or runs on another worker.
    public let isUnwanted: Bool

    public var description: String {
        isUnwanted
            ? "rolled back: the job's guard rejected its completion" : "rolled back: this worker no longer owns the job"
    }
}
