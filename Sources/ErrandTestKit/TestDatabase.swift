import Foundation
import Logging
import Postgres

/// Runs `body` with a database of its own that has Errand's whole schema, and drops it afterwards.
///
/// ```swift
/// try await withTestDatabase(schema: ["create table public.orders (id uuid primary key)"]) { database, _ in
///     …
/// }
/// ```
/// The database is copied from a template, which the first test creates and later runs with the same schema reuse. Some
/// 50 ms per test.
///
/// - Parameters:
///   - connections: the most open connections.
///   - schema: your own scripts, run after Errand's when the template is created. Each set of scripts has its own
///     template.
///   - logger: the logger of the connections. Default: one for warnings and errors.
///   - body: the test. It gets the database, and how to reach it.
/// - Throws: what `body` throws; ``TestServerMissing`` if `ERRAND_TEST_DATABASE_URL` isn't set.
public func withTestDatabase<T: Sendable>(
    connections: Int = 8, schema: [String] = [], logger: Logger? = nil,
    _ body: (Database, PostgresConfiguration) async throws -> T
) async throws -> T {
    try await withTestDatabase(
        connections: connections, schema: TestSchema(scripts: schema), logger: logger, body)
}

package func withTestDatabase<T: Sendable>(
    connections: Int = 8, schema: TestSchema, logger: Logger? = nil,
    _ body: (Database, PostgresConfiguration) async throws -> T
) async throws -> T {
    let server = try TestServer.shared.get()
    let name = try await server.makeDatabase(schema: schema)
    let configuration = server.clients.with(database: name)
    let database = Database(
        configuration: configuration, maximumConnections: connections, waitLimit: .seconds(60),
        logger: logger ?? .test)
    do {
        // The database is a copy of the template, and a copy claims nothing until it is adopted.
        try await database.execute("select errand_internal.record_home()")
        let result = try await body(database, configuration)
        await database.close()
        try await server.drop(name)
        return result
    } catch {
        await database.close()
        try? await server.drop(name)
        throw error
    }
}

extension Logger {
    /// Logs warnings and errors only, to keep the tests' output readable.
    static var test: Logger {
        var logger = Logger(label: "errand.test")
        logger.logLevel = .warning
        return logger
    }
}

/// The server for tests isn't configured.
public struct TestServerMissing: Error, CustomStringConvertible {
    public var description: String {
        "ERRAND_TEST_DATABASE_URL: expected the URL of a PostgreSQL server on which tests may make and drop databases, "
            + "got nothing; for example postgresql:///postgres (in Errand's own checkout, `make test` starts one)"
    }
}
