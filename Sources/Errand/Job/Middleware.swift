import Postgres

/// What is done around each job of a program's handlers: a trace, a tenant, encrypted payloads.
///
/// ```swift
/// struct Timed: Middleware {
///     func run(_ context: JobContext, _ next: @Sendable () async throws -> Outcome) async throws -> Outcome {
///         let start = ContinuousClock.now
///         defer { context.logger.info("took \(ContinuousClock.now - start)") }
///         return try await next()
///     }
/// }
/// ```
/// A worker and a queue get a list of them, outermost first. All of it is optional: by default a middleware runs the
/// next one, and leaves payloads as they are.
public protocol Middleware: Sendable {
    /// Runs around a handler, once an attempt. `next` decodes the payload and runs the handler, or the next middleware.
    /// What this returns or throws is the outcome, so it may change that of `next`, or not call it at all. Values of
    /// task-locals that it sets hold in the handler.
    ///
    /// It runs in the attempt's task: within its deadline, and cancelled with it.
    func run(_ context: JobContext, _ next: @Sendable () async throws -> Outcome) async throws -> Outcome

    /// The payload to store, when a job of this kind is enqueued. The innermost middleware of a list is asked first.
    ///
    /// - Throws: any error; then nothing is enqueued.
    func encode(_ payload: JSONB, of kind: JobKind) throws -> JSONB

    /// The payload that ``encode(_:of:)`` got, from what it returned. The outermost middleware of a list is asked
    /// first. It also gets payloads that were stored without it, by SQL or an older program.
    ///
    /// - Throws: any error. The attempt fails with it: for good if it is a ``ClassifiedError`` that is permanent.
    func decode(_ payload: JSONB, of kind: JobKind) throws -> JSONB
}

extension Middleware {
    public func run(_ context: JobContext, _ next: @Sendable () async throws -> Outcome) async throws -> Outcome {
        try await next()
    }

    public func encode(_ payload: JSONB, of kind: JobKind) throws -> JSONB { payload }

    public func decode(_ payload: JSONB, of kind: JobKind) throws -> JSONB { payload }
}

/// The middleware of a worker or a queue, outermost first.
package struct MiddlewareChain: Sendable {
    private let all: [any Middleware]

    package init(_ all: [any Middleware] = []) { self.all = all }

    /// Runs `body` with all of it around.
    func run(
        _ context: JobContext, _ body: @escaping @Sendable () async throws -> Outcome
    ) async throws -> Outcome {
        var next = body
        for middleware in all.reversed() {
            let inner = next
            next = { try await middleware.run(context, inner) }
        }
        return try await next()
    }

    func encode(_ payload: JSONB, of kind: JobKind) throws -> JSONB {
        try all.reversed().reduce(payload) { try $1.encode($0, of: kind) }
    }

    func decode(_ payload: JSONB, of kind: JobKind) throws -> JSONB {
        try all.reduce(payload) { try $1.decode($0, of: kind) }
    }
}

// MARK: - Payloads
extension MiddlewareChain {
    /// The payload of a job to enqueue, as it is stored.
    func encoded<J: Job>(_ job: J) throws -> JSONB { try encode(JSONB(encoding: job), of: J.kind) }

    /// The job of a stored payload.
    ///
    /// - Throws: ``UnfitPayload``; what a middleware throws.
    func decoded<J: Job>(_ type: J.Type, from stored: JSONB, in kind: JobKind = J.kind) throws -> J {
        let payload = try decode(stored, of: J.kind)
        // All fields of a kind may be optional: then it would fit.
        guard !EncryptedPayload.isStored(payload) else { throw UnreadablePayload.noKeys(kind) }
        do {
            return try J(payload: payload)
        } catch {
            guard !EncryptedPayload.isOne(payload) else { throw UnreadablePayload.noKeys(kind) }
            throw UnfitPayload(kind: kind, error)
        }
    }
}

/// A payload that doesn't match its kind. A retry would fail again.
struct UnfitPayload: ClassifiedError, CustomStringConvertible {
    let description: String
    let cause: any Error
    var isPermanent: Bool { true }

    init(kind: JobKind, _ error: any Error) {
        cause = error
        description = "payload does not fit \(kind): \(error.decodingText(of: "payload"))"
    }
}
