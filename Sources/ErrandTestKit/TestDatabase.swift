import Foundation
import Logging
import Postgres
import Schema

extension Migrator {
    /// The migrator of this version's schema.
    package static var errand: Migrator {
        Migrator(
            migrations: Schema.migrations.map { ($0.name, $0.sql) },
            replaceable: Schema.replaceable.map { ($0.name, $0.sql) })
    }
}

/// Runs `body` with a database of its own that has the whole schema and nothing else, and drops it afterwards.
///
/// It is copied from a template that the first test of a run makes: some 50 ms a test.
/// - Throws: what `body` throws; ``TestServerMissing`` where `ERRAND_TEST_DATABASE_URL` isn't set.
public func withTestDatabase<T: Sendable>(
    connections: Int = 8, _ body: (Database, PostgresConfiguration) async throws -> T
) async throws -> T {
    let server = try TestServer()
    let name = "errand_test_\(UUID().uuidString.prefix(12).lowercased().replacing("-", with: "_"))"
    try await server.create(name)
    let configuration = server.configuration.with(database: name)
    let database = Database(
        configuration: configuration, maximumConnections: connections, logger: Logger(label: "errand.test"))
    do {
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

/// The server that tests use isn't named.
public struct TestServerMissing: Error, CustomStringConvertible {
    public var description: String {
        "ERRAND_TEST_DATABASE_URL: expected the URL of a PostgreSQL server on which tests may make and drop databases, "
            + "got nothing; `make test` starts one and sets it"
    }
}

/// The server on which tests make their databases.
struct TestServer {
    let configuration: PostgresConfiguration

    init() throws {
        guard let url = ProcessInfo.processInfo.environment["ERRAND_TEST_DATABASE_URL"] else {
            throw TestServerMissing()
        }
        var configuration = try PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(60)
        self.configuration = configuration
    }

    func create(_ name: String) async throws {
        let connection = try await connect()
        // One at a time over all test processes: a template must not be in use when it is copied. The lock ends with the
        // connection.
        try await connection.execute("select pg_advisory_lock(hashtext('errand.test'))")
        let template = try await Self.template(on: connection, configuration)
        try await connection.execute(Statement("create database \(name) template \(template)"))
        await connection.close()
    }

    func drop(_ name: String) async throws {
        let connection = try await connect()
        try await connection.execute(Statement("drop database if exists \(name) with (force)"))
        await connection.close()
    }

    private func connect() async throws -> Connection {
        try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
    }

    /// The template's name, which carries the hash of the schema: another schema has another template.
    private static func template(on connection: Connection, _ configuration: PostgresConfiguration) async throws
        -> String
    {
        let all = (Schema.migrations + Schema.replaceable).map(\.sql).joined()
        let rows = try await connection.query(Statement("select md5($1)", [all]))
        let name = "errand_template_\(try rows.scalar(String.self).prefix(16))"
        let found = try await connection.query(
            Statement("select exists (select from pg_database where datname = $1)", [name]))
        if try !found.scalar(Bool.self) {
            let draft = name + "_draft"
            try await connection.execute(Statement("drop database if exists \(draft) with (force)"))
            try await connection.execute(Statement("create database \(draft)"))
            let inside = try await Connection.connect(
                configuration.with(database: draft), logger: Logger(label: "errand.test"))
            try await Migrator.errand.run(on: inside)
            try await inside.execute("select errand.maintain_v1()")
            await inside.close()
            try await rename(draft, to: name, on: connection)
        }
        return name
    }

    /// Waits until the server has noticed that the draft's last session is gone.
    private static func rename(_ draft: String, to name: String, on connection: Connection) async throws {
        let isLeft = Statement("select not exists (select from pg_stat_activity where datname = $1)", [draft])
        while try await !connection.query(isLeft).scalar(Bool.self) {
            try await Task.sleep(for: .milliseconds(10))
        }
        try await connection.execute(Statement("alter database \(draft) rename to \(name)"))
    }
}
