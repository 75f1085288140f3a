import ErrandTestKit
import Foundation
import Logging
import Testing

@testable import Postgres

@Suite("Connection") struct ConnectionTests {
    @Test("a pipeline is all or nothing, and leaves the connection usable")
    func pipeline() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create table numbers (n int8 primary key)")
            let insert = Statement("insert into numbers values ($1)", [1])
            let error = await #expect(throws: PostgresError.self) {
                try await database.pipeline([insert, Statement("select 2"), insert, Statement("select 3")])
            }
            #expect(error?.sqlState == "23505")
            // The third one.
            #expect(error?.statement == 2)
            let rows = try await database.pipeline([Statement("select count(*) from numbers"), Statement("select 7")])
            #expect(try rows[0].scalar(Int.self) == 0)
            #expect(try rows[1].scalar(Int.self) == 7)
        }
    }

    @Test("a transaction with a failed statement is not reported as committed")
    func swallowedError() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create table numbers (n int8)")
            let error = await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("insert into numbers values (1)")
                    _ = try? await transaction.execute("select nonsense")
                }
            }
            #expect(error?.sqlState == "25P02")
            let count = try await database.query("select count(*) from numbers").scalar(Int.self)
            #expect(count == 0)
        }
    }

    @Test("a cancelled task's transaction is rolled back, and its connection is fit for the next")
    func cancelledTransaction() async throws {
        try await withTestDatabase(connections: 1) { database, _ in
            try await database.execute("create table numbers (n int8)")
            let task = Task {
                try await database.transaction { transaction in
                    try await transaction.execute("insert into numbers values (1)")
                    try await transaction.execute("select pg_sleep(30)")
                }
            }
            try await Task.sleep(for: .milliseconds(200))
            let clock = ContinuousClock()
            let took = await clock.measure {
                task.cancel()
                let error = await #expect(throws: PostgresError.self) { try await task.value }
                #expect(error?.code == .cancelled)
            }
            #expect(took < .seconds(10), "1 s is promised of a machine that does nothing else")
            let count = try await database.query("select count(*) from numbers").scalar(Int.self)
            #expect(count == 0)
        }
    }

    @Test("the server's time-out leaves the connection, the client's deadline gives it up")
    func timeouts() async throws {
        try await withTestDatabase { _, configuration in
            var short = configuration
            short.statementTimeout = .milliseconds(100)
            let connection = try await Connection.connect(short, logger: Logger(label: "test"))
            let byServer = await #expect(throws: PostgresError.self) {
                try await connection.query("select pg_sleep(5)")
            }
            #expect(byServer?.code == .timedOut && byServer?.sqlState == "57014")
            #expect(try await connection.query("select 1").scalar(Int.self) == 1)
            try await connection.execute("set statement_timeout = 0")
            let byClient = await #expect(throws: PostgresError.self) {
                try await connection.query("select pg_sleep(5)", deadline: .milliseconds(100))
            }
            #expect(byClient?.code == .timedOut && byClient?.isOutcomeUnknown == true)
            #expect(await !connection.isOpen)
        }
    }

    @Test("a killed session is a lost connection with an unknown outcome, and the pool heals")
    func killed() async throws {
        try await withTestDatabase(connections: 1) { database, _ in
            let kill = Statement(
                "select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep(20)%'")
            async let killed = database.query("select pg_sleep(20)")
            let other = try await database.makeConnection()
            while try await other.execute(kill) == 0 { try await Task.sleep(for: .milliseconds(5)) }
            do {
                _ = try await killed
                Issue.record("the killed session replied")
            } catch let error as PostgresError {
                #expect(error.code == .connectionLost && error.isOutcomeUnknown && error.isTransient)
            }
            #expect(try await database.query("select 1").scalar(Int.self) == 1)
            // Killed while idle, so the pool doesn't use it again.
            try await other.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            )
            try await Task.sleep(for: .milliseconds(100))
            #expect(try await database.query("select 2").scalar(Int.self) == 2)
            await other.close()
        }
    }

    @Test("COPY inserts 100,000 rows; a bad row fails all of them, and the connection stays usable")
    func copy() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create table numbers (n int8 check (n <> 7), t text)")
            try await database.withConnection { connection in
                let count = try await connection.copyIn(
                    "numbers", columns: ["n", "t"],
                    rows: (100..<100_100).map { [$0, $0 % 2 == 0 ? "even" : String?.none] })
                #expect(count == 100_000)
                await #expect(throws: PostgresError.self) {
                    try await connection.copyIn("numbers", columns: ["n"], rows: [[1], [7]])
                }
                await #expect(throws: PostgresError.self) {
                    try await connection.copyIn("nowhere", columns: ["n"], rows: [[1]])
                }
                #expect(
                    try await connection.query("select count(*) from numbers where t is null").scalar(Int.self)
                        == 50_000)
            }
            let asStatement = await #expect(throws: PostgresError.self) {
                try await database.query("copy numbers to stdout")
            }
            #expect(asStatement?.code == .malformed)
            #expect(try await database.query("select 1").scalar(Int.self) == 1)
        }
    }

    @Test("a notification arrives on an idle connection, and together with a reply")
    func notifications() async throws {
        try await withTestDatabase { database, _ in
            let connection = try await database.makeConnection()
            try await connection.listen("news")
            var arrived = connection.notifications.makeAsyncIterator()
            try await database.execute("select pg_notify('news', 'idle')")
            #expect(await arrived.next() == PostgresNotification(channel: "news", payload: "idle"))
            try await connection.execute("select pg_notify('news', 'with the answer')")
            #expect(await arrived.next()?.payload == "with the answer")
            #expect(try await connection.listenIsDelivered(from: database))
            await connection.close()
            #expect(await arrived.next() == nil)
        }
    }

    @Test(
        "a URL that can't be used is refused in one line that never shows the password",
        arguments: [
            "", "nonsense", "postgresql://u:hunter2@host:port/db", "postgres://u:hunter2@[", "host='a password=hunter2",
            "postgres://app:hunter@2hunter2@host/x", "postgres://app:12/hunter2@host/x", "postgres://app:hunter2",
            "postgres://app:x@y?hunter2=x@host/x", "postgres://host/x?password=x&hunter2=x",
        ])
    func badURLs(url: String) {
        let error = #expect(throws: PostgresError.self) { try PostgresConfiguration(url: url) }
        #expect(error?.code == .configuration)
        #expect(error.map { !"\($0)".contains("hunter2") && !"\($0)".contains("\n") } == true)
    }

    @Test(
        "a URL of another client is refused by the name of its scheme or parameter",
        arguments: [
            ("postgresql://u:hunter2@host/db?sslmode=require&pgbouncer=true", "pgbouncer"),
            ("postgres://u:hunter2@host/db?schema=public", "schema"),
            ("postgres+asyncpg://u:hunter2@host/db", "postgres+asyncpg"),
            ("jdbc:postgresql://host/db?user=u&password=hunter2", "jdbc:postgresql"),
        ])
    func foreignURLs(url: String, name: String) {
        let error = #expect(throws: PostgresError.self) { try PostgresConfiguration(url: url) }
        #expect(error?.code == .configuration && error?.detail.contains("'\(name)' of another client") == true)
        #expect(error.map { !"\($0)".contains("hunter2") } == true)
    }

    @Test("several hosts are tried for the one that takes writes; settings of the URL win")
    func keywords() throws {
        let several = try PostgresConfiguration(url: "postgresql://a,b/db?connect_timeout=7")
        let keywords = Dictionary(uniqueKeysWithValues: several.keywords(withOptions: true))
        #expect(keywords["target_session_attrs"] == "read-write")
        #expect(keywords["connect_timeout"] == "7")
        #expect(keywords["options"]?.hasPrefix("-c statement_timeout=5000 ") == true)
        #expect(!"\(try PostgresConfiguration(url: "postgresql://u:hunter2@h/db"))".contains("hunter2"))
    }
}
