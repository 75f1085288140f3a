import Foundation
import Postgres

/// A handler that is told of each failure of one of its jobs: when no attempt is left, or none would help.
///
/// ```swift
/// extension ChargeHandler: FailureHandler {
///     func failed(_ job: Charge, _ failure: JobFailure, in context: JobContext) async throws -> Outcome {
///         try await shop.release(job.order, because: failure.error)
///         return .done
///     }
/// }
/// ```
public protocol FailureHandler<Payload>: JobHandler {
    /// Runs in a job of its own, of the kind with `.failed` behind its name. That is enqueued in the transaction that
    /// records the failure, by a worker, or by maintenance after a crash. So it is there once for each
    /// failure, also for that of a job which an operator has retried.
    ///
    /// It has the kind's queue, priority, deadline, retries and retention, and its attempts run at least once, like
    /// those of any job. If it fails itself, nothing more follows.
    func failed(_ job: Payload, _ failure: JobFailure, in context: JobContext) async throws -> Outcome
}

/// A failure of a job.
public struct JobFailure: Sendable, Hashable {
    /// The failed job.
    public let id: Int64
    /// What is on its record as the error.
    public let error: String
    /// How many attempts it took.
    public let attempts: Int
}

extension JobKind {
    /// The kind of the jobs that are enqueued for failures of this one.
    var failed: JobKind { JobKind(rawValue: rawValue + ".failed") }
}

extension Handlers {
    /// The handler of the jobs that errand_internal.enqueue_on_failure enqueues.
    static func failureEntry<H: FailureHandler>(_ handler: H, in middleware: MiddlewareChain) -> Entry {
        let policy = H.Payload.policy
        let own = JobPolicy(
            queue: policy.queue, priority: policy.priority, deadline: policy.deadline, retry: policy.retry,
            retention: policy.retention)
        let kind = H.Payload.kind.failed
        /// The payload of the failed job is stored as that job has it.
        @Sendable func decoded(_ stored: JSONB) throws -> (H.Payload, JobFailure) {
            let whole: StoredFailure
            do { whole = try StoredFailure(stored) } catch { throw UnfitPayload(kind: kind, error) }
            return (try middleware.decoded(H.Payload.self, from: whole.payload, in: kind), whole.failure)
        }
        return Entry(policy: own) { payload in
            _ = try decoded(payload)
        } run: { job, context in
            try await middleware.run(context) {
                let (payload, failure) = try decoded(job.payload)
                return try await handler.failed(payload, failure, in: context)
            }
        }
    }
}

/// The payload of a job that errand_internal.enqueue_on_failure has enqueued.
private struct StoredFailure {
    let failure: JobFailure
    let payload: JSONB

    private struct Fields: Decodable {
        let job_id: Int64
        let error: String
        let attempt: Int
    }

    init(_ stored: JSONB) throws {
        let fields = try stored.decode(Fields.self)
        failure = JobFailure(id: fields.job_id, error: fields.error, attempts: fields.attempt)
        let whole = try JSONSerialization.jsonObject(with: Data(stored.bytes)) as? [String: Any]
        let part = try JSONSerialization.data(withJSONObject: whole?["payload"] ?? NSNull(), options: .fragmentsAllowed)
        payload = JSONB(bytes: Array(part))
    }
}
