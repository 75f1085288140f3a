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
            try await database.execute("select errand.set_wake_flag_v1(true)")
            try await database.execute("select errand.rescue_v1()")
            try await workers[0].dies()
            #expect(try await database.word(flag) == "2")
            try await workers[1].dies()
            #expect(try await database.word(flag) == "1")

            let last = try await ManualWorker(database)
            try await database.execute("select errand.set_wake_flag_v1(true)")
            try await database.execute(Statement("select errand.leave_v1($1, false)", [last.id]))
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
                try await database.execute(Statement("select errand.set_wake_flag_v1($1)", [asleep]))
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
}
