import Foundation
import Postgres

/// The handlers of a worker, found by kind.
public struct Handlers: Sendable {
    /// A type-erased handler: takes the job as stored in the database.
    package struct Entry: Sendable {
        package let policy: JobPolicy
        /// The app that the kind belongs to, if it is one of errand's. Only databases with this app have such jobs.
        package var app: String?
        /// The kind of the job that each failure of one of this kind enqueues.
        var onFailure: JobKind?
        /// How jobs of the kind are gathered; nil for most kinds, whose jobs run one by one.
        var chunk: ChunkPlan?
        /// Decodes a stored payload as a run does. Throws what fails a job for good.
        package let check: @Sendable (JSONB) throws -> Void
        package let run: @Sendable (ClaimedJob, JobContext) async throws -> Outcome

        package init(
            policy: JobPolicy, check: @escaping @Sendable (JSONB) throws -> Void = { _ in },
            run: @escaping @Sendable (ClaimedJob, JobContext) async throws -> Outcome
        ) {
            self.policy = policy
            self.check = check
            self.run = run
        }
    }

    package private(set) var entries: [JobKind: Entry] = [:]
    private let middleware: MiddlewareChain

    /// The built-in kind `noop` is always included.
    ///
    /// - Parameters:
    ///   - handlers: at most one for each kind.
    ///   - middleware: what runs around each of them, outermost first. Not around SQL functions and endpoints.
    public init(_ handlers: [any JobHandler] = [], middleware: [any Middleware] = []) {
        self.middleware = MiddlewareChain(middleware)
        add(NoopHandler())
        for handler in handlers { add(handler) }
    }

    /// Adds a handler. A kind has one handler: the last one added replaces earlier ones.
    public mutating func add(_ handler: some JobHandler) {
        let kind = Self.kind(of: handler)
        if let handler = handler as? any ChunkHandler {
            entries[kind] = Self.chunkEntry(handler, in: middleware)
        } else {
            entries[kind] = Self.entry(handler, in: middleware)
        }
        guard let handler = handler as? any FailureHandler else { return }
        entries[kind]?.onFailure = kind.failed
        entries[kind.failed] = Self.failureEntry(handler, in: middleware)
    }

    /// Adds the handlers of an app.
    package mutating func add(_ handlers: [any JobHandler], of app: String) {
        for handler in handlers {
            add(handler)
            for kind in [Self.kind(of: handler), Self.kind(of: handler).failed] { entries[kind]?.app = app }
        }
    }

    /// The kinds, sorted.
    public var kinds: [JobKind] { entries.keys.sorted() }

    subscript(kind: JobKind) -> Entry? { entries[kind] }

    private static func kind<H: JobHandler>(of handler: H) -> JobKind { H.Payload.kind }

    /// The type-erased handler. A `deadline` replaces that of its kind.
    package static func entry<H: JobHandler>(
        _ handler: H, in middleware: MiddlewareChain = MiddlewareChain(), deadline: Duration? = nil
    ) -> Entry {
        var policy = H.Payload.policy
        policy.deadline = deadline ?? policy.deadline
        return Entry(policy: policy) { payload in
            _ = try middleware.decoded(H.Payload.self, from: payload)
        } run: { job, context in
            try await middleware.run(context) {
                try await handler.run(middleware.decoded(H.Payload.self, from: job.payload, in: job.kind), in: context)
            }
        }
    }
}

/// The handlers of a worker, one a line.
@resultBuilder
public enum HandlersBuilder {
    public static func buildBlock(_ handlers: any JobHandler...) -> [any JobHandler] { handlers }
}
