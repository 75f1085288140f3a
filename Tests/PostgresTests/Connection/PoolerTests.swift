import ErrandTestKit
import Logging
import Testing

@testable import Postgres

@Suite("Behind PgBouncer in transaction mode") struct PoolerTests {
    @Test("statements, transactions and pipelines work, and LISTEN is found not to be delivered")
    func pooler() async throws {
        try await withTestDatabase { database, _ in
            let bouncer = try await Bouncer(before: database, mode: "transaction", poolSize: 3)
            defer { bouncer.stop() }
            let pooled = Database(
                configuration: bouncer.configuration, maximumConnections: 4, logger: Logger(label: "test"))
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
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                do $$
                begin
                    execute format('alter database %I set default_transaction_isolation = serializable', current_database());
                end
                $$
                """)
            let bouncer = try await Bouncer(before: database, mode: "transaction", poolSize: 3)
            defer { bouncer.stop() }
            let pooled = Database(
                configuration: bouncer.configuration, maximumConnections: 1, logger: Logger(label: "test"))
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
