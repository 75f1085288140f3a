import ErrandTestKit
import Foundation
import Logging
import Testing

@testable import Postgres

@Suite("Behind PgBouncer in transaction mode") struct PoolerTests {
    @Test("statements, transactions and pipelines work, and LISTEN is found not to be delivered")
    func pooler() async throws {
        try await withTestDatabase { database, configuration in
            let bouncer = try Bouncer(for: configuration)
            defer { bouncer.stop() }
            let url = "postgresql:///\(configuration.database)?host=\(bouncer.folder)&port=6432&user=postgres"
            let pooled = Database(
                configuration: try PostgresConfiguration(url: url), maximumConnections: 4, logger: Logger(label: "test")
            )
            try await bouncer.isUp(pooled)
            #expect(
                try await pooled.pipeline([Statement("select $1", [5]), Statement("select 6")])[0].scalar(Int.self) == 5
            )
            try await pooled.transaction { try await $0.execute("create table numbers (n int8)") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask { try await pooled.execute(Statement("insert into numbers values ($1)", [number])) }
                }
                try await group.waitForAll()
            }
            #expect(try await pooled.query("select count(*) from numbers").scalar(Int.self) == 50)
            let prepared = Statement("select $1 + 1", [41]).prepared
            for _ in 0..<20 { #expect(try await pooled.query(prepared).scalar(Int.self) == 42) }
            #expect(try await pooled.query("select count(*) from pg_prepared_statements").scalar(Int.self) == 0)
            let listener = try await pooled.makeConnection()
            #expect(try await !listener.listenIsDelivered(from: pooled))
            await listener.close()
            await pooled.close()
        }
    }

    @Test("transactions begin at READ COMMITTED, whatever the database sets, though a connection's options are lost")
    func isolation() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute(
                """
                do $$
                begin
                    execute format('alter database %I set default_transaction_isolation = serializable', current_database());
                end
                $$
                """)
            let bouncer = try Bouncer(for: configuration)
            defer { bouncer.stop() }
            let url = "postgresql:///\(configuration.database)?host=\(bouncer.folder)&port=6432&user=postgres"
            let pooled = Database(
                configuration: try PostgresConfiguration(url: url), maximumConnections: 1, logger: Logger(label: "test")
            )
            try await bouncer.isUp(pooled)
            let level: Statement = "select current_setting('transaction_isolation')"
            #expect(try await pooled.query(level).scalar(String.self) == "read committed")
            #expect(try await pooled.pipeline([level, level])[1].scalar(String.self) == "read committed")
            let levels = try await pooled.transaction { transaction in
                try await [transaction.query(level), transaction.pipeline([level, level])[1]]
                    .map { try $0.scalar(String.self) }
            }
            #expect(levels == ["read committed", "read committed"])
            let error = await #expect(throws: PostgresError.self) {
                try await pooled.pipeline([level, "select 1 / 0"])
            }
            #expect(error?.statement == 1)
            #expect(try await pooled.execute("create table public.one (n int)") == 0)
            await pooled.close()
        }
    }
}

/// A separate PgBouncer for this test, on a Unix socket.
private struct Bouncer {
    let folder: String
    private let process = Process()

    init(for configuration: PostgresConfiguration) throws {
        folder = "/tmp/errand-bouncer-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
        let keywords = Dictionary(uniqueKeysWithValues: configuration.keywords(withOptions: false))
        let server = ["host", "port"].compactMap { key in keywords[key].map { "\(key)=\($0)" } }.joined(separator: " ")
        try """
        [databases]
        * = \(server) user=postgres
        [pgbouncer]
        listen_addr =
        listen_port = 6432
        unix_socket_dir = \(folder)
        auth_type = any
        pool_mode = transaction
        default_pool_size = 3
        """.write(toFile: "\(folder)/bouncer.ini", atomically: true, encoding: .utf8)
        // PgBouncer refuses to run as root.
        process.executableURL = URL(fileURLWithPath: getuid() == 0 ? "/usr/sbin/runuser" : "/usr/sbin/pgbouncer")
        process.arguments =
            (getuid() == 0 ? ["-u", "postgres", "--", "/usr/sbin/pgbouncer"] : []) + ["-q", "\(folder)/bouncer.ini"]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
    }

    func isUp(_ database: Database) async throws {
        for _ in 0..<200 {
            if (try? await database.query("select 1")) != nil { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        _ = try await database.query("select 1")
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
