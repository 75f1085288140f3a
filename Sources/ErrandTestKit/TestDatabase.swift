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
/// It is copied from a template, which the first test that needs it makes; every other run of the same schema finds it.
/// Some 50 ms a test.
///
/// - Parameters:
///   - connections: open at the same time, at most.
///   - schema: scripts of your own, run behind Errand's when the template is made. Other scripts have another template.
///   - logger: what the connections log to. Default: one that says warnings and worse.
///   - body: the test. It gets the database, and how to reach it.
/// - Throws: what `body` throws; ``TestServerMissing`` where `ERRAND_TEST_DATABASE_URL` isn't set.
public func withTestDatabase<T: Sendable>(
    connections: Int = 8, schema: [String] = [], logger: Logger? = nil,
    _ body: (Database, PostgresConfiguration) async throws -> T
) async throws -> T {
    let server = try TestServer.shared.get()
    let name = try await server.makeDatabase(schema: schema)
    let configuration = server.clients.with(database: name)
    let database = Database(
        configuration: configuration, maximumConnections: connections, waitLimit: .seconds(60),
        logger: logger ?? .test)
    do {
        // It is a copy of the template, and a copy claims nothing until it is adopted.
        try await database.execute("select errand.record_home()")
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
    /// What a test's output is told: warnings and worse, so that the results of the tests can be seen between them.
    static var test: Logger {
        var logger = Logger(label: "errand.test")
        logger.logLevel = .warning
        return logger
    }
}

/// The server that tests use isn't named.
public struct TestServerMissing: Error, CustomStringConvertible {
    public var description: String {
        "ERRAND_TEST_DATABASE_URL: expected the URL of a PostgreSQL server on which tests may make and drop databases, "
            + "got nothing; for example postgresql:///postgres (in Errand's own checkout, `make test` starts one)"
    }
}
