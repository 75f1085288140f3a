import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("A copy of a database, until it is adopted") struct CopyTests {
    /// Makes the test's database look like a copy of another.
    private func makeCopy(_ database: Database) async throws {
        try await database.execute("update errand.home set database_name = 'elsewhere'")
    }

    @Test("a worker claims nothing, logs one line, and continues once the copy is adopted")
    func worker() async throws {
        try await withTestDatabase { database, _ in
            try await makeCopy(database)
            try await Queue(database: database).enqueue(Noop())
            let log = CapturedLog()
            let worker = Worker(database: database, logger: Logger(label: "worker") { _ in log }) {}
            let running = Task { try await worker.run() }
            try await log.has("heartbeat failed")
            // Ten heartbeats a second fail six times more.
            try await Task.sleep(for: .milliseconds(600))
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
            #expect(try await database.count("from errand.worker") == 0)
            let lines = log.lines.all("heartbeat failed")
            #expect((1...2).contains(lines.count))
            let said = "\(lines.first?.metadata["error"] ?? "")"
            #expect(said.contains("this database is a copy of elsewhere (oid "))
            #expect(try await database.query("select errand.adopt('a test')").scalar(Bool.self))
            #expect(try await database.drains())
            running.cancel()
            try await running.value
        }
    }

    @Test("a scheduler enqueues nothing, and continues once the copy is adopted")
    func scheduler() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_schedule('often', 'every 1 s', 'noop')")
            try await makeCopy(database)
            let log = CapturedLog()
            let logger = Logger(label: "scheduler") { _ in log }
            let running = Task { try await Scheduler(database: database, logger: logger).run() }
            // The schedule ticks each second.
            try await Task.sleep(for: .seconds(1))
            try await log.has("scheduling is interrupted")
            #expect(try await database.count("from errand.tick") == 0)
            #expect(try await database.count("from errand.job") == 0)
            for call in ["errand_internal.tick_v1()", "errand.tick_schedules()"] {
                #expect(try await database.refusal(of: "select \(call)") == "ER421")
            }
            try await database.execute("select errand.adopt('a test')")
            #expect(try await database.becomes("exists (select from errand.tick where job_id is not null)"))
            #expect(
                try await database.becomes(
                    "exists (select from errand.maintenance_status where task = 'schedule' and not is_late)"))
            running.cancel()
            try await running.value
        }
    }

    @Test("a worker that a pooler has brought to a copy claims nothing there, and learns that its lease is lost")
    func brought() async throws {
        try await withTestDatabase { database, configuration in
            let worker = try await database.enter()
            try await database.execute("select errand.enqueue('noop')")
            try await makeCopy(database)
            // Another session, without the pooler of the tests: a session that has claimed stays on its server.
            let other = Database(
                configuration: try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true)),
                maximumConnections: 1, logger: Logger(label: "test"))
            try await other.take(worker)
            #expect(try await database.count("from errand.job where state = 'running'") == 0)
            let heartbeat = Statement(
                "select alive from errand_internal.heartbeat_v1(array[$1::int8], 0, '{}', null)", [worker])
            #expect(try await other.query(heartbeat).scalar([Int64].self) == [])
            await other.close()
        }
    }

    @Test("errand.health reports it; errand.adopt needs a reason, is recorded, and does nothing without a copy")
    func adopt() async throws {
        try await withTestDatabase { database, _ in
            let home = "select ok from errand.health() where check_name = 'home'"
            #expect(try await database.text(home) == "true")
            #expect(try await database.text("select errand.adopt('why not')", as: "errand_ops") == "false")
            #expect(try await database.text("select count(*) from errand.audit") == "0")
            try await makeCopy(database)
            #expect(try await database.text(home) == "false")
            #expect(try await database.refusal(of: "select errand.adopt(' ')", as: "errand_ops") == "ER422")
            #expect(try await database.refusal(of: "select errand.adopt('me')", as: "errand_worker") == "42501")
            #expect(try await database.text("select errand.adopt('the old one is gone')", as: "errand_ops") == "true")
            #expect(
                try await database.text("select action, reason from errand.audit") == "adopt|the old one is gone")
            #expect(try await database.text(home) == "true")
            #expect(try await database.text("select coalesce(errand.copy_of(), 'none')") == "none")
        }
    }
}

extension CapturedLog {
    /// Waits until it has a line with this message.
    fileprivate func has(_ message: String) async throws {
        let start = ContinuousClock.now
        while lines.all(message).isEmpty, .now - start < .seconds(60) { try await Task.sleep(for: .milliseconds(20)) }
        #expect(!lines.all(message).isEmpty)
    }
}
