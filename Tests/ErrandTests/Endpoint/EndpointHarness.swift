import Cryptography
import ErrandTestKit
import Logging
import Postgres
import Synchronization

@testable import Errand

/// Answers instead of servers, and remembers what was posted.
final class ScriptedEndpoints: EndpointCaller {
    private let reply: @Sendable (Endpoint, EndpointRequest) async throws -> EndpointReply
    private let made = Mutex<[(endpoint: Endpoint, request: EndpointRequest)]>([])

    init(_ reply: @escaping @Sendable (Endpoint, EndpointRequest) async throws -> EndpointReply) { self.reply = reply }

    func call(_ endpoint: Endpoint, _ request: EndpointRequest) async throws(CancellationError) -> EndpointReply {
        made.withLock { $0.append((endpoint, request)) }
        do {
            return try await reply(endpoint, request)
        } catch {
            return .failed(reason: "\(error)", cause: "the test's script")
        }
    }

    func hmac(of message: [UInt8], key: [UInt8]) -> [UInt8] { HMAC.sha256(message, key: key) }

    /// What was posted, oldest first.
    var requests: [EndpointRequest] { made.withLock { $0.map(\.request) } }
    var urls: [String] { made.withLock { $0.map(\.endpoint.url) } }
}

/// Runs a worker that takes up new endpoints within a tenth of a second, for as long as `body` runs. The endpoint
/// `shop` handles the kind `order`.
func withEndpointWorker(
    replying reply: @escaping @Sendable (Database, EndpointRequest) async throws -> EndpointReply,
    _ body: (Database, ScriptedEndpoints) async throws -> Void
) async throws {
    try await withTestDatabase { database, _ in
        try await database.execute("select errand.put_endpoint('shop', 'https://shop.example/jobs?key=k', 'shop')")
        try await database.execute("select errand.put_http_handler('order', 'shop')")
        let endpoints = ScriptedEndpoints { _, request in try await reply(database, request) }
        try await database.runsWorker(calling: endpoints) { try await body(database, endpoints) }
    }
}

extension Database {
    /// Runs a worker beside `body`; nil: one that calls no endpoints.
    func runsWorker(calling endpoints: ScriptedEndpoints?, while body: () async throws -> Void) async throws {
        var configuration = WorkerConfiguration.withoutMaintenance
        configuration.heartbeatInterval = .milliseconds(100)
        configuration.grace = .milliseconds(100)
        configuration.endpoints = endpoints
        let worker = Worker(
            database: self, configuration: configuration, logger: Logger(label: "worker"), handlers: Handlers())
        try await worker.runs(while: body)
    }

    /// The state of a job, with what maintenance releases meanwhile.
    func reaches(_ condition: String) async throws -> Bool {
        try await becomes(condition) {
            try await promote()
            try await execute("select errand_internal.release_waiting()")
        }
    }
}
