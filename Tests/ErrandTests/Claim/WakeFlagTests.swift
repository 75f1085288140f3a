import AppTestKit
import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The wake-up flag") struct WakeFlagTests {
    @Test("the flag is lowered if the last sleeping worker was killed or stops, and stays for a live one")
    func killed() async throws {
        try await withTestDatabase { database, _ in
            let flag = "select last_value from errand.wake_flag"
            let workers = [try await ManualWorker(database), try await ManualWorker(database)]
            try await database.execute("select errand_internal.set_wake_flag_v1(true)")
            try await database.execute("select errand_internal.rescue()")
            try await workers[0].dies()
            #expect(try await database.word(flag) == "2")
            try await workers[1].dies()
            #expect(try await database.word(flag) == "1")

            let last = try await ManualWorker(database)
            try await database.execute("select errand_internal.set_wake_flag_v1(true)")
            try await database.execute(Statement("select errand_internal.leave_v1($1, false)", [last.id]))
            #expect(try await database.word(flag) == "1")
        }
    }

    @Test("lowering the flag tells those that sleep, once", .timeLimit(.minutes(2)))
    func told() async throws {
        try await withTestDatabase { database, configuration in
            // A pooler in transaction mode forwards no notifications.
            let configuration = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
            let listener = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
            try await listener.listen("errand_wake")
            for asleep in [true, false, false, true, false] {
                try await database.execute(Statement("select errand_internal.set_wake_flag_v1($1)", [asleep]))
            }
            try await database.execute("select pg_notify('errand_wake', 'last')")
            var payloads: [String] = []
            for await notification in listener.notifications {
                payloads.append(notification.payload)
                if notification.payload == "last" { break }
            }
            #expect(payloads == ["lowered", "lowered", "last"])
            await listener.close()
        }
    }

    @Test(
        "with errand.notify = off a transaction sends no NOTIFY, so it can be prepared; the setting ends with it"
    )
    func silenced() async throws {
        try await withAppDatabase { database, configuration in
            let configuration = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
            let connection = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
            try await connection.execute("select errand_internal.set_wake_flag_v1(true)")
            let canPrepare = try await connection.query(
                "select current_setting('max_prepared_transactions')::int > 0"
            ).scalar(Bool.self)
            let gid = "errand_test_\(UInt32.random(in: 0...UInt32.max))"
            let calls =
                [
                    "select errand.enqueue('noop')", #"select errand.enqueue_many('[{"kind": "noop"}]')"#,
                    "select errand.cancel(array(select id from errand.job where state = 'running'), 'x')",
                    "select errand.retry(array(select id from errand.history))",
                ] + AppCase.statements(.notifies)
            /// The SQLSTATE with which PREPARE TRANSACTION is refused.
            func refusal(first: String) async throws -> String? {
                for call in ["begin", first] + calls { try await connection.execute(Statement(call)) }
                do {
                    try await connection.execute(Statement("prepare transaction '\(gid)'"))
                } catch {
                    // It has rolled back.
                    return error.sqlState
                }
                try await connection.execute(Statement("commit prepared '\(gid)'"))
                return nil
            }
            if canPrepare {
                try await connection.execute("select errand.enqueue('noop')")
                let job = try await ManualWorker(database).claim(1)
                #expect(job.count == 1)
                #expect(try await refusal(first: "set local errand.notify = off") == nil)
                #expect(try await refusal(first: "select 1") == "0A000")
                #expect(try await refusal(first: "set local errand.notify = on") == "0A000")
            }
            await connection.close()
            let wrong = ["set local errand.notify = maybe", "select errand.enqueue('noop')"]
            let error = await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    for call in wrong { try await transaction.execute(Statement(call)) }
                }
            }
            #expect(error?.detail == "errand.notify: expected on or off, got 'maybe'")
            // No other object of ours notifies by itself.
            let others = """
                from pg_proc
                where pronamespace = any (errand_internal.namespaces()) and prosrc ~ 'pg_notify' and oid <> 'errand_internal.notify'::regproc
                """
            #expect(try await database.count(others) == 0)
        }
    }
}
