import Postgres

/// The payload of one kind of job, as stored in the database.
///
/// ```swift
/// struct SendReceipt: Job {
///     static let kind: JobKind = "send_receipt"
///     static let policy = JobPolicy(queue: "mail", deadline: .seconds(20), retry: .exponential(attempts: 6))
///     var order: UUID
/// }
/// ```
/// It is stored as JSON, at most 256 KB of text and 64 objects and arrays within each other. Put keys into it, not
/// data, and no secrets: ops read it.
public protocol Job: Codable, Sendable {
    /// The kind's name. It must never change: waiting jobs are found by it.
    static var kind: JobKind { get }
    /// How jobs of the kind are run. Default: queue `default`, priority 2, 5 minutes, 10 attempts.
    static var policy: JobPolicy { get }
    /// Decodes the job from a payload. Default: by `Codable`. A kind whose payload has changed can decode the old form
    /// here.
    ///
    /// - Throws: any error that says what doesn't match, such as a `DecodingError`. The job then fails without a retry.
    init(payload: JSONB) throws
}

extension Job {
    public static var policy: JobPolicy { JobPolicy() }

    public init(payload: JSONB) throws {
        self = try payload.decode(Self.self)
    }
}
