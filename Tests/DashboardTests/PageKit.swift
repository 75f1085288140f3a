import ErrandTestKit
import Foundation
import Hummingbird
import Logging
import Postgres
import Synchronization
import Web

@testable import Dashboard

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The page on a free port over its own database.
struct Page: Sendable {
    let port: Int
    let database: Database
    let log: RecordedLog

    struct Response {
        let status: Int
        let headers: [String: String]
        let text: String
    }

    /// Follows no redirect and keeps no cookie.
    func send(
        _ method: String = "GET", _ path: String, form: String? = nil, headers: [String: String] = [:]
    ) async throws -> Response {
        var request = URLRequest(url: URL(string: "http://127.0.0.1:\(port)\(path)")!)
        request.httpMethod = method
        request.httpBody = form.map { Data($0.utf8) }
        request.httpShouldHandleCookies = false
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await session.data(for: request)
        let http = response as! HTTPURLResponse
        let pairs = http.allHeaderFields.map { ("\($0.key)".lowercased(), "\($0.value)") }
        return Response(
            status: http.statusCode, headers: Dictionary(pairs) { $1 }, text: String(decoding: data, as: UTF8.self))
    }

    /// Logs in, and returns the cookie and the token of its forms.
    func logIn(_ name: String = "alice", _ password: String = Page.password) async throws -> (String, String) {
        let reply = try await send("POST", "/log-in", form: "name=\(name)&password=\(Dashboard.encoded(password))")
        let cookie = String((reply.headers["set-cookie"] ?? "").prefix { $0 != ";" })
        let page = try await send("GET", "/workers", headers: ["Cookie": cookie]).text
        let token = page.firstMatch(of: /name="token" value="([^"]+)"/).map { String($0.1) } ?? ""
        return (cookie, token)
    }

    static let password = "a calm password of five words"
    static let token = "a-token-of-more-than-twenty"
}

private let session = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 50
    // Cookies know no ports: one test would send those of another.
    configuration.httpCookieStorage = nil
    configuration.httpCookieAcceptPolicy = .never
    configuration.httpShouldSetCookies = false
    return URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
}()

private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
        newRequest _: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}

/// What was logged, with all fields.
final class RecordedLog: Sendable {
    private let lines = Mutex<[String]>([])
    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = "\(event.level) \(event.message) \(metadata) \(event.metadata ?? [:])"
            log.lines.withLock { $0.append(line) }
        }
    }
}

/// Rules with one person and one token, cheap to check.
func someRules() throws -> AccessRules {
    var rules = AccessRules()
    rules.passwords = ["alice": try PasswordHash(hashing: Page.password, logRounds: 10)]
    rules.tokens = ["ci": Page.token]
    return rules
}

/// Serves the page while `body` runs.
func withPage(_ rules: AccessRules, _ body: @Sendable (Page) async throws -> Void) async throws {
    try await withTestDatabase { database, configuration in
        let log = RecordedLog()
        let own = Database(configuration: configuration, maximumConnections: 4, logger: log.logger)
        let dashboard = try Dashboard(
            database: own, access: rules, host: "127.0.0.1", version: "1", logger: log.logger)
        try await serve({ dashboard.addRoutes(to: $0) }, log) { port in
            try await body(Page(port: port, database: database, log: log))
        }
        await own.close()
    }
}

/// Serves the pages of two cells, and of a third one that can't be reached, while `body` runs.
func withCells(_ rules: AccessRules, _ body: @Sendable (Page, [Database]) async throws -> Void) async throws {
    try await withTestDatabase { first, one in
        try await withTestDatabase { second, other in
            let log = RecordedLog()
            let gone = try PostgresConfiguration(url: "postgresql://127.0.0.1:1/gone")
            let own = [one, other, gone].map {
                Database(configuration: $0, maximumConnections: 4, logger: log.logger)
            }
            let dashboards = try CellDashboards(
                cells: zip(["db0/q", "db1/q", "db2/q"], own).map { (name: $0, database: $1) }, access: rules,
                host: "127.0.0.1", version: "1", logger: log.logger)
            try await serve({ dashboards.addRoutes(to: $0) }, log) { port in
                try await body(Page(port: port, database: first, log: log), [first, second])
            }
            for database in own { await database.close() }
        }
    }
}

private func serve(
    _ addRoutes: @escaping @Sendable (Router<WebContext>) -> Void, _ log: RecordedLog,
    _ body: @Sendable (Int) async throws -> Void
) async throws {
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    let web = Web(
        address: .init(host: "127.0.0.1", port: 0), version: "1", queues: [], registry: MetricRegistry(), checks: [],
        logger: log.logger, addRoutes: addRoutes, onListening: { listening.yield($0) })
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await web.run() }
        for await port in ports {
            try await body(port)
            break
        }
        group.cancelAll()
        try await group.waitForAll()
    }
}

/// The page, and the session of a person who is logged in.
struct Operator: Sendable {
    let page: Page
    let cookie: [String: String]
    let token: String

    var database: Database { page.database }

    func send(
        _ method: String, _ path: String, form: String? = nil, headers: [String: String]
    ) async throws -> Page.Response { try await page.send(method, path, form: form, headers: headers) }

    func post(_ path: String, _ form: String) async throws -> Page.Response {
        try await page.send("POST", path, form: "\(form)&token=\(token)", headers: cookie)
    }

    /// The rows of two texts, each as one text.
    func rows(_ sql: String) async throws -> [String] {
        try await database.query(Statement(sql)).map { row in
            let (first, second) = try row.decode(String.self, String?.self)
            return "\(first) \(second ?? "")"
        }
    }
}

func withOperator(_ body: @Sendable (Operator) async throws -> Void) async throws {
    try await withPage(try someRules()) { page in
        let (cookie, token) = try await page.logIn()
        try await body(Operator(page: page, cookie: ["Cookie": cookie], token: token))
    }
}
