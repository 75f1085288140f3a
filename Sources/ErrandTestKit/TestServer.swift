import EngineSchema
import Foundation
import Logging
import Postgres
import Synchronization

/// What a test's database has beside the queue.
package struct TestSchema: Sendable {
    let apps: [SchemaPart]
    let scripts: [String]

    package init(apps: [SchemaPart] = [], scripts: [String] = []) {
        self.apps = apps
        self.scripts = scripts
    }

    /// The same without the scripts.
    fileprivate var plain: TestSchema { TestSchema(apps: apps) }

    fileprivate var migrator: Migrator { EngineSchema.migrator(with: apps) }

    fileprivate var key: [String] { [apps.map(\.name).joined(separator: ",")] + scripts }
}

/// The server on which tests create their databases.
package final class TestServer: Sendable {
    /// The server of this process. Throws if it isn't configured correctly.
    static let shared = Result { try TestServer() }

    let configuration: PostgresConfiguration
    /// The same server as a test's clients reach it: through a pooler in transaction mode where
    /// `ERRAND_TEST_POOLER_URL` names one.
    let clients: PostgresConfiguration
    /// Kept open for the whole process, so that creating and dropping databases needs no new connection.
    private let maintenance: Database
    private let templates = Mutex<[[String]: Task<String, any Error>]>([:])
    private let logger = Logger.test

    init() throws {
        let environment = ProcessInfo.processInfo.environment
        guard let url = environment["ERRAND_TEST_DATABASE_URL"] else { throw TestServerMissing() }
        var configuration = try PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(60)
        self.configuration = configuration
        var clients = try PostgresConfiguration(url: environment["ERRAND_TEST_POOLER_URL"] ?? url)
        clients.statementTimeout = configuration.statementTimeout
        self.clients = clients
        maintenance = Database(
            configuration: configuration, maximumConnections: 4, waitLimit: .seconds(120), logger: logger)
    }
}

// MARK: - A test's database
extension TestServer {
    /// Creates a database from the schema's template. Returns its name.
    func makeDatabase(schema: TestSchema) async throws -> String {
        let template = try await template(of: schema)
        // The name contains the creation time, which shows the age of databases that killed tests left.
        let now = Int(Date.now.timeIntervalSince1970)
        let name = "errand_test_\(now)_\(UUID().uuidString.prefix(8).lowercased())"
        do {
            try await copy(template, to: name)
        } catch {
            // The template may have been dropped since this process began.
            guard error.sqlState == "3D000" else { throw error }
            templates.withLock { $0[schema.key] = nil }
            try await copy(self.template(of: schema), to: name)
        }
        return name
    }

    /// Copies the template's files, as all servers before 15 do. Newer ones write each page to the WAL by default, in
    /// twice the time.
    private func copy(_ template: String, to name: String) async throws(PostgresError) {
        let newer = "select current_setting('server_version_num')::int >= 150000"
        let strategy = try await maintenance.query(Statement(newer)).scalar(Bool.self) ? "strategy file_copy" : ""
        try await maintenance.execute(Statement("create database \(name) template \(template) \(strategy)"))
    }

    func drop(_ name: String) async throws {
        try await maintenance.execute(Statement("drop database if exists \(name) with (force)"))
    }
}

// MARK: - Templates
extension TestServer {
    /// The template's name. The first caller in this process creates it if it is missing, and the others wait.
    private func template(of schema: TestSchema) async throws -> String {
        let task = templates.withLock { templates in
            if let task = templates[schema.key] { return task }
            // Its own task: the first caller may be cancelled, and the others still need it.
            let task = Task { try await findOrMake(schema) }
            templates[schema.key] = task
            return task
        }
        do {
            return try await task.value
        } catch {
            templates.withLock { $0[schema.key] = nil }
            throw error
        }
    }

    private func findOrMake(_ schema: TestSchema) async throws -> String {
        // Before the lock, which it takes too.
        let plain = schema.scripts.isEmpty ? nil : try await template(of: schema.plain)
        let connection = try await maintenance.makeConnection()
        do {
            // One at a time over all test processes. The lock ends with the connection. On a busy machine the wait for
            // the others takes longer than a statement may.
            try await connection.execute("set statement_timeout = 0")
            try await connection.execute("select pg_advisory_lock(hashtext('errand.test'))")
            let name = try await name(of: schema, on: connection)
            let found = try await connection.query(
                Statement("select exists (select from pg_database where datname = $1)", [name]))
            if try !found.scalar(Bool.self) { try await make(name, schema, from: plain, on: connection) }
            try await dropAbandoned(besides: name, on: connection)
            await connection.close()
            return name
        } catch {
            await connection.close()
            throw error
        }
    }

    /// The name contains the hash of all scripts: each schema has its own template.
    private func name(of schema: TestSchema, on connection: Connection) async throws -> String {
        let all = schema.migrator.scripts.map(\.sql) + schema.scripts
        let rows = try await connection.query(Statement("select md5(array_to_string($1, chr(10)))", [all]))
        return "errand_template_\(try rows.scalar(String.self).prefix(16))"
    }

    /// - Parameter plain: the template with Errand's schema alone, to which the scripts are added; nil to create that.
    private func make(
        _ name: String, _ schema: TestSchema, from plain: String?, on connection: Connection
    ) async throws {
        let draft = name + "_draft"
        try await connection.execute(Statement("drop database if exists \(draft) with (force)"))
        if let plain {
            try await copy(plain, to: draft)
        } else {
            try await connection.execute(Statement("create database \(draft)"))
        }
        let inside = try await Connection.connect(configuration.with(database: draft), logger: logger)
        do {
            if plain == nil { try await schema.migrator.run(on: inside) }
            for script in schema.scripts { try await inside.script(script) }
        } catch {
            await inside.close()
            throw error
        }
        await inside.close()
        // A database with a session can't be renamed, and the server notices the end of this session a moment later.
        let isLeft = Statement("select not exists (select from pg_stat_activity where datname = $1)", [draft])
        while try await !connection.query(isLeft).scalar(Bool.self) { try await Task.sleep(for: .milliseconds(10)) }
        try await connection.execute(Statement("alter database \(draft) rename to \(name)"))
    }

    /// Drops old databases: templates that weren't used for a week, and databases that killed tests left more than an
    /// hour ago.
    private func dropAbandoned(besides name: String, on connection: Connection) async throws {
        let now = Int(Date.now.timeIntervalSince1970)
        try await connection.execute(Statement("comment on database \(name) is '\(now)'"))
        let old = try await connection.query(
            Statement(
                #"""
                select datname::text
                from pg_database
                where datname <> $1 and not exists (select from pg_stat_activity where datname = pg_database.datname)
                    and case
                        when datname ~ '^errand_test_\d{9,11}_[0-9a-f]{8}$'
                            then split_part(datname, '_', 3)::bigint < $2 - 3600
                        when datname ~ '^errand_template_[0-9a-f]{16}$'
                            then shobj_description(oid, 'pg_database')::bigint < $2 - 7 * 86400
                    end
                """#, [name, now])
        ).column(0, as: String.self)
        for name in old {
            // This fails if another process uses it meanwhile.
            _ = try? await connection.execute(Statement("drop database if exists \(name)"))
        }
    }
}
