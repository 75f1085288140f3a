import ErrandTestKit
import Logging
import Testing

@testable import Postgres

@Suite("Migrator") struct MigratorTests {
    @Test("each migration once, each function when its text has changed; a second run does nothing")
    func once() async throws {
        try await withEmptyDatabase { connection in
            let first = migrator(function: "select 1")
            let plan = try await first.plan(on: connection)
            #expect(plan.count == 3)
            #expect(try await first.run(on: connection) == [.migration("0001_a"), .migration("0002_b"), .script("f")])
            #expect(try await first.run(on: connection) == [])
            #expect(try await first.plan(on: connection) == [])
            #expect(try await migrator(function: "select 2").run(on: connection) == [.script("f")])
            #expect(try await connection.query("select f()").scalar(Int32.self) == 2)
        }
    }

    @Test("an edited migration is refused, by name")
    func edited() async throws {
        try await withEmptyDatabase { connection in
            try await migrator().run(on: connection)
            let error = await #expect(throws: PostgresError.self) {
                try await migrator(second: "create table public.b (n int8)").run(on: connection)
            }
            #expect(error?.code == .schema)
            #expect(error?.detail.hasPrefix("migration 0002_b differs from the one that this database has") == true)
            #expect(error?.hint == Migrator.startAnew)
        }
    }

    @Test("a database that is newer than the program is refused")
    func newer() async throws {
        try await withEmptyDatabase { connection in
            try await migrator().run(on: connection)
            let older = Migrator(
                version: "1.0", migrations: [("0001_a", "create table public.a (n int)")], replaceable: [])
            let error = await #expect(throws: PostgresError.self) { try await older.plan(on: connection) }
            #expect(error?.detail == "the database has migration 0002_b, which this version of errand doesn't know")
        }
    }

    @Test("an advisory lock, which anybody may take, holds up no migration")
    func notHeldUp() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("drop schema errand cascade")
            let stranger = try await Connection.connect(configuration, logger: Logger(label: "test"))
            try await stranger.execute("select pg_advisory_lock(hashtext('errand.migration'))")
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            try await connection.execute("set lock_timeout = '5s'")
            #expect(try await migrator().run(on: connection).count == 3)
            await connection.close()
            await stranger.close()
        }
    }

    @Test("two concurrent runs apply everything once")
    func atOnce() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("drop schema errand cascade")
            let steps = try await withThrowingTaskGroup(of: [Migrator.Step].self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
                        let steps = try await migrator().run(on: connection)
                        await connection.close()
                        return steps
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(steps.count == 3)
        }
    }

    @Test("a script that fails names itself and leaves nothing; steps before it stay")
    func failing() async throws {
        try await withEmptyDatabase { connection in
            let broken = migrator(second: "create table public.b (n int); select nonsense")
            let error = await #expect(throws: PostgresError.self) { try await broken.run(on: connection) }
            #expect(error?.detail.hasPrefix("0002_b: column \"nonsense\" does not exist") == true)
            let tables = try await connection.query("select to_regclass('a') is not null, to_regclass('b') is null")
            #expect(try tables[0].decode(Bool.self, Bool.self) == (true, true))
        }
    }

    @Test("a statement that can't run in a transaction has its way")
    func alone() async throws {
        try await withEmptyDatabase { connection in
            let steps = try await migrator(
                second: "-- errand: no-transaction\ncreate index concurrently if not exists a_n on public.a (n)"
            ).run(on: connection)
            #expect(steps.contains(.migration("0002_b")))
            #expect(try await connection.query("select to_regclass('a_n') is not null").scalar(Bool.self))
        }
    }

    @Test("a step outside a transaction may exceed the statement timeout, which applies again afterwards")
    func aloneAndSlow() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("drop schema errand cascade")
            var short = configuration
            short.statementTimeout = .milliseconds(400)
            let connection = try await Connection.connect(short, logger: Logger(label: "test"))
            try await migrator(
                second: "-- errand: no-transaction\nselect pg_sleep(0.6)"
            ).run(on: connection)
            let limit = try await connection.query("select current_setting('statement_timeout')").scalar(String.self)
            #expect(limit == "400ms")
            await connection.close()
        }
    }

    @Test("two concurrent runs may both run a step outside a transaction, and record it once")
    func aloneAtOnce() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("drop schema errand cascade")
            let steps = try await withThrowingTaskGroup(of: [Migrator.Step].self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
                        let steps = try await migrator(
                            second: "-- errand: no-transaction\nselect pg_sleep(0.1)"
                        ).run(on: connection)
                        await connection.close()
                        return steps
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(steps.count == 3 && Set(steps).count == 3)
        }
    }

    @Test("a table that is in use is waited for in short tries")
    func locked() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("create table busy (n int)")
            let holder = try await database.makeConnection()
            try await holder.execute("begin")
            try await holder.execute("lock table busy")
            let release = Task {
                try await Task.sleep(for: .milliseconds(500))
                try await holder.execute("commit")
            }
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            try await connection.execute("drop schema errand cascade")
            let migrator = Migrator(
                version: "1.0", migrations: [("0001_busy", "alter table public.busy add column m int")],
                replaceable: [],
                lockTimeout: .milliseconds(50))
            #expect(try await migrator.run(on: connection) == [.migration("0001_busy")])
            try await release.value
            await connection.close()
            await holder.close()
        }
    }

    @Test("in a deadlock with another transaction, the migration is the victim")
    func deadlocked() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("create table public.a (n int)")
            try await database.execute("create table public.b (n int)")
            let holder = try await database.makeConnection()
            try await holder.execute("begin")
            try await holder.execute("lock table a in access share mode")
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            try await connection.execute("drop schema errand cascade")
            let migrator = Migrator(
                version: "1.0",
                migrations: [
                    ("0001_both", "alter table public.b add column m int; alter table public.a add column m int")
                ],
                replaceable: [])
            let run = Task { try await migrator.run(on: connection) }
            let isWaiting = Statement(
                "select exists (select from pg_locks where relation = 'a'::regclass and not granted)")
            while try await !database.query(isWaiting).scalar(Bool.self) {}
            try await holder.execute("lock table b in access share mode")
            try await holder.execute("commit")
            #expect(try await run.value == [.migration("0001_both")])
            await connection.close()
            await holder.close()
        }
    }

    @Test("a foreign schema is rejected as a whole: no earlier step is applied, and a plan reports it")
    func taken() async throws {
        try await withEmptyDatabase { connection in
            let migrator = migrator(second: "create schema shop;\ncreate table shop.b (n int);")
            try await connection.execute("create schema shop")
            try await connection.execute("create table shop.orders (n int)")
            for act in [{ try await migrator.plan(on: $0) }, { try await migrator.run(on: $0) }]
                as [@Sendable (Connection) async throws -> [Migrator.Step]]
            {
                let error = await #expect(throws: PostgresError.self) { try await act(connection) }
                #expect(error?.code == .schema)
                #expect(
                    error?.detail
                        == "the database has already, and not from Errand: schema shop (with orders); nothing was changed"
                )
            }
            let isClean = "select to_regclass('a') is null and to_regnamespace('errand') is null"
            #expect(try await connection.query(Statement(isClean)).scalar(Bool.self))
            try await connection.execute("alter schema shop rename to shop_of_ours")
            #expect(try await migrator.run(on: connection).count == 3)
            #expect(try await migrator.run(on: connection) == [])
        }
    }

    @Test(
        "a schema errand of somebody else is refused, also where it has a table of ours by name; an empty one is taken")
    func takenErrand() async throws {
        try await withEmptyDatabase { connection in
            let migrator = Migrator(
                version: "1.0",
                migrations: [("0001_a", "create schema if not exists errand;\ncreate table errand.a (n int);")],
                replaceable: [])
            try await connection.execute("create schema errand")
            for table in ["parcel", "migration"] {
                try await connection.execute(Statement("create table errand.\(table) (n int)"))
                let error = await #expect(throws: PostgresError.self) { try await migrator.run(on: connection) }
                #expect(error?.code == .schema)
                #expect(error?.detail.hasSuffix("nothing was changed") == true)
                #expect(error?.detail.contains(table) == true)
                try await connection.execute(Statement("drop table errand.\(table)"))
            }
            #expect(try await migrator.run(on: connection) == [.migration("0001_a")])
        }
    }

    @Test("a dropped function is missing, and created again")
    func dropped() async throws {
        try await withEmptyDatabase { connection in
            let migrator = migrator()
            try await migrator.run(on: connection)
            try await connection.execute("drop function f()")
            #expect(try await migrator.fit(on: connection).lacks == [.script("f")])
            #expect(try await migrator.run(on: connection) == [.script("f")])
            #expect(try await connection.query("select f()").scalar(Int32.self) == 1)
        }
    }

    private func migrator(second: String = "create table public.b (n int)", function: String = "select 1") -> Migrator {
        Migrator(
            version: "1.0", migrations: [("0001_a", "create table public.a (n int)"), ("0002_b", second)],
            replaceable: [("f", "create or replace function public.f() returns int language sql as $$ \(function) $$")])
    }

    private func withEmptyDatabase(_ body: (Connection) async throws -> Void) async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("drop schema errand cascade")
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            try await body(connection)
            await connection.close()
        }
    }
}
