import API
import AsyncHTTPClient
import ErrandTestKit
import Foundation
import Logging
import MetricsTestKit
import NIOCore
import NIOHTTP1
import Postgres
import Synchronization
import Testing
import Web

/// The HTTP API on a free port over its own database.
struct TestAPI: Sendable {
    let port: Int
    let database: Database
    let metrics: TestMetrics
    let log: RecordedLines
    let client: HTTPClient

    struct Response: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let text: String

        /// A field of the JSON object; nil without one.
        func field(_ name: String) -> String? {
            let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            return object?[name].flatMap { $0 is NSNull ? nil : "\($0)" }
        }

        var id: Int64? { field("id").flatMap { Int64($0) } }
    }

    /// A token that may enqueue these kinds into these queues; all if nil.
    func token(_ name: String, kinds: [String]? = nil, queues: [String]? = nil) async throws -> String {
        let token = APIToken()
        _ = try await database.query(
            Statement("select errand.put_api_token($1, $2, $3, $4)", [name, token.hash, kinds, queues]))
        return token.text
    }

    func send(
        _ method: HTTPMethod, _ path: String, _ token: String? = nil, json: String? = nil,
        headers: [(String, String)] = [], timeout: TimeAmount = .seconds(90)
    ) async throws -> Response {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = method
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let json {
            request.body = .bytes(Array(json.utf8))
            if !headers.contains(where: { $0.0 == "Content-Type" }) {
                request.headers.add(name: "Content-Type", value: "application/json")
            }
        }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        let response = try await client.execute(request, timeout: timeout)
        let body = try await response.body.collect(upTo: 1 << 20)
        return Response(
            status: Int(response.status.code), headers: response.headers, text: String(buffer: body))
    }

    func enqueue(_ json: String, _ token: String, key: String? = nil) async throws -> Response {
        try await send(
            .POST, "/v1/jobs", token, json: json, headers: key.map { [("Idempotency-Key", $0)] } ?? [])
    }
}

/// Serves the API while `body` runs. It must then stop at once.
///
/// - Parameters:
///   - connections: of the pool.
///   - other: where the API looks for its database; nil: where it is.
func withAPI(
    connections: Int = 4, on other: PostgresConfiguration? = nil, _ body: @Sendable (TestAPI) async throws -> Void
) async throws {
    allowOpenFiles()
    try await withTestDatabase { database, configuration in
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let log = RecordedLines()
        let logger = Logger(label: "test") { _ in log }
        var own = other ?? configuration
        own.applicationName = "errand api"
        own.statementTimeout = .seconds(30)
        let pool = Database(
            configuration: own, maximumConnections: connections, waitLimit: .seconds(30), logger: logger)
        let metrics = TestMetrics()
        let api = API(
            address: .init(host: "127.0.0.1", port: 0), version: "1", database: pool, bodyTimeout: .seconds(2),
            metrics: metrics, logger: logger,
            onListening: { listening.yield($0) })
        let serving = Task { try await api.run() }
        let port = try #require(await ports.first { _ in true })
        var limits = HTTPClient.Configuration()
        limits.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1200
        limits.redirectConfiguration = .disallow
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: limits)
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await body(
                    TestAPI(port: port, database: database, metrics: metrics, log: log, client: client)))
        } catch {
            result = .failure(error)
        }
        serving.cancel()
        _ = try? await serving.value
        try await client.shutdown()
        await pool.close()
        try result.get()
    }
}

/// Thousands of connections have two ends in this process.
private func allowOpenFiles() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, 8192)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// All that is logged, at any level.
struct RecordedLines: LogHandler, Sendable {
    private final class Lines: Sendable {
        let texts = Mutex<[String]>([])
    }

    private let lines = Lines()
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    var text: String { lines.texts.withLock { $0.joined(separator: "\n") } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.texts.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
    }
}

extension Database {
    /// The one value of a query, as text.
    func value(_ sql: String) async throws -> String {
        try await query(Statement("select (\(sql))::text")).scalar(String.self)
    }
}
