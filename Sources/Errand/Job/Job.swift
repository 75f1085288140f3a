import Postgres

/// What is to be done, as it lies in the database: the payload of one kind of job.
///
/// ```swift
/// struct SendReceipt: Job {
///     static let kind: JobKind = "send_receipt"
///     static let policy = JobPolicy(queue: "mail", deadline: .seconds(20), retry: .exponential(attempts: 6))
///     var order: UUID
/// }
/// ```
/// It is stored as JSON, at most 256 KB of text. Put keys into it, not data, and no secrets: ops read it.
public protocol Job: Codable, Sendable {
    /// The kind's name, for ever: jobs that wait in the database are found by it.
    static var kind: JobKind { get }
    /// How jobs of the kind are run. Default: queue `default`, priority 2, 5 minutes, 10 attempts.
    static var policy: JobPolicy { get }
    /// The job of a payload. Default: by `Codable`; a kind whose payload has changed its shape can read the old one
    /// here.
    ///
    /// - Throws: whatever says what doesn't fit, such as a `DecodingError`: the job fails at once with it.
    init(payload: JSONB) throws
}

extension Job {
    public static var policy: JobPolicy { JobPolicy() }

    public init(payload: JSONB) throws {
        self = try payload.decode(Self.self)
    }
}
