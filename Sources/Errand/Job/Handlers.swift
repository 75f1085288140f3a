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
        package let run: @Sendable (ClaimedJob, JobContext) async throws -> Outcome

        package init(
            policy: JobPolicy, run: @escaping @Sendable (ClaimedJob, JobContext) async throws -> Outcome
        ) {
            self.policy = policy
            self.run = run
        }
    }

    package private(set) var entries: [JobKind: Entry] = [:]

    /// The built-in kind `noop` is always included.
    ///
    /// - Parameter handlers: at most one for each kind.
    public init(_ handlers: [any JobHandler] = []) {
        add(NoopHandler())
        for handler in handlers { add(handler) }
    }

    /// Adds a handler. A kind has one handler: the last one added replaces earlier ones.
    public mutating func add(_ handler: some JobHandler) {
        let kind = Self.kind(of: handler)
        entries[kind] = Self.entry(handler)
        guard let handler = handler as? any FailureHandler else { return }
        entries[kind]?.onFailure = kind.failed
        entries[kind.failed] = Self.failureEntry(handler)
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
    package static func entry<H: JobHandler>(_ handler: H, deadline: Duration? = nil) -> Entry {
        var policy = H.Payload.policy
        policy.deadline = deadline ?? policy.deadline
        return Entry(policy: policy) { job, context in
            let payload: H.Payload
            do {
                payload = try H.Payload(payload: job.payload)
            } catch {
                throw UnfitPayload(kind: job.kind, error)
            }
            return try await handler.run(payload, in: context)
        }
    }
}

/// The handlers of a worker, one a line.
@resultBuilder
public enum HandlersBuilder {
    public static func buildBlock(_ handlers: any JobHandler...) -> [any JobHandler] { handlers }
}

/// A payload that doesn't match its kind. A retry would fail again.
struct UnfitPayload: ClassifiedError, CustomStringConvertible {
    let description: String
    var isPermanent: Bool { true }

    init(kind: JobKind, _ error: any Error) {
        description = "payload does not fit \(kind): \(error.decodingText(of: "payload"))"
    }
}
