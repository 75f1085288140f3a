import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Bulk actions") struct BulkTests {
    private func fill(_ database: Database, _ jobs: Int) async throws {
        try await database.execute(
            Statement(
                "select errand.enqueue('noop', tags => array['t' || n % 2]) from generate_series(1, \(jobs)) as n"))
    }

    @Test("batches cancel all jobs that match and were enqueued before, and no others")
    func cancels() async throws {
        try await withTestDatabase { database, _ in
            try await fill(database, 10)
            let start = "select errand.start_bulk('cancel', '{\"tag\": \"t1\"}', 'wrong text')"
            #expect(try await database.text(start, as: "errand_ops") == "1")
            try await fill(database, 4)
            let status = "select state, progress, changed, skipped from errand.bulk_status"
            #expect(try await database.text(status, as: "errand_monitor") == "waiting|0.000|0|0")
            let batch = "select errand_internal.run_bulk(4)"
            #expect(try await database.text(batch) == "true")
            #expect(try await database.text(status) == "running|0.400|2|0")
            #expect(try await database.text(batch) == "true")
            #expect(try await database.text(batch) == "true")
            #expect(try await database.text(status) == "done|1|5|0")
            #expect(try await database.text(batch) == "false")
            #expect(
                try await database.text("select distinct state, reason from errand.history")
                    == "cancelled|bulk 1: wrong text")
            #expect(try await database.count("from errand.job where tags = '{t1}' and id > 10") == 2)
            #expect(try await database.count("from errand.job") == 9)
            let audit = "select action, reason, target ->> 'bulk' from errand.audit"
            #expect(try await database.text(audit) == "start_bulk|wrong text|1")
        }
    }

    @Test("discard gives up failed jobs, and their errors stay visible")
    func discards() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await fill(database, 3)
            try await database.take(worker)
            try await database.fail(worker, with: "no such address")
            try await database.execute("select errand.enqueue('noop')")
            try await database.execute("select errand.start_bulk('discard', '{\"error\": \"address\"}', 'they left')")
            while try await database.query("select errand_internal.run_bulk()").scalar(Bool.self) {}
            #expect(try await database.count("from errand.failed") == 0)
            #expect(try await database.count("from errand.job") == 1)
            #expect(
                try await database.text("select distinct reason from errand.history")
                    == "discarded: bulk 1: they left")
            #expect(
                try await database.text("select failures, retried, discarded, last_error from errand.failures")
                    == "3|0|3|no such address")
        }
    }

    @Test("a job that another session has locked is cancelled by a later pass")
    func skipped() async throws {
        try await withTestDatabase { database, _ in
            try await fill(database, 3)
            try await database.execute("select errand.start_bulk('cancel', '{\"kind\": \"noop\"}', 'x')")
            try await database.transaction { transaction in
                try await transaction.execute("select from errand.job where id = 2 for update")
                #expect(try await database.text("select errand_internal.run_bulk()") == "true")
                #expect(try await database.text("select id from errand.job") == "2")
                #expect(try await database.text("select state from errand.bulk_status") == "running")
            }
            while try await database.query("select errand_internal.run_bulk()").scalar(Bool.self) {}
            #expect(try await database.count("from errand.job") == 0)
            #expect(try await database.text("select state, changed from errand.bulk_status") == "done|3")
        }
    }

    @Test("a batch that is lost with its session is made again, and a copy of the database makes none")
    func interrupted() async throws {
        try await withTestDatabase { database, _ in
            try await fill(database, 4)
            try await database.execute("select errand.start_bulk('cancel', '{\"kind\": \"noop\"}', 'x')")
            struct Killed: Error {}
            await #expect(throws: Killed.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("select errand_internal.run_bulk(2)")
                    throw Killed()
                }
            }
            #expect(try await database.text("select state, changed from errand.bulk_status") == "waiting|0")
            try await database.execute("update errand.home set database_name = 'elsewhere'")
            #expect(try await database.text("select errand_internal.run_bulk()") == "false")
            #expect(try await database.count("from errand.job") == 4)
            try await database.execute("select errand.adopt('a test')")
            while try await database.query("select errand_internal.run_bulk(2)").scalar(Bool.self) {}
            #expect(try await database.text("select state, changed from errand.bulk_status") == "done|4")
        }
    }

    @Test("one is stopped with a reason, and the next one goes on")
    func stop() async throws {
        try await withTestDatabase { database, _ in
            try await fill(database, 4)
            for tag in ["t0", "t1"] {
                try await database.execute(
                    Statement("select errand.start_bulk('cancel', '{\"tag\": \"\(tag)\"}', 'x')"))
            }
            try await database.execute("select errand_internal.run_bulk(2)")
            #expect(
                try await database.text("select errand.stop_bulk(1, 'the wrong tag')", as: "errand_ops") == "1")
            while try await database.query("select errand_internal.run_bulk()").scalar(Bool.self) {}
            let status = "select id, state, changed, stopped_reason from errand.bulk_status"
            #expect(try await database.text(status) == "2|done|2|\n1|stopped|1|the wrong tag")
            #expect(try await database.refusal(of: "select errand.stop_bulk(1, 'x')") == "ER409")
            #expect(try await database.refusal(of: "select errand.stop_bulk(9, 'x')") == "ER404")
            for call in [
                "stop_bulk(1, '')", "start_bulk('retry', '{\"kind\": \"a\"}', 'x')", "start_bulk('cancel', '{}', 'x')",
                "start_bulk('cancel', '{\"state\": \"failed\"}', 'x')", "start_bulk('cancel', '{\"kind\": \"a\"}', '')",
            ] {
                #expect(try await database.refusal(of: "select errand.\(call)") == "ER422", "\(call)")
            }
            #expect(
                try await database.refusal(
                    of: "select errand.start_bulk('cancel', '{\"kind\": \"a\"}', 'x')",
                    as: "errand_monitor") == "42501")
        }
    }

    @Test("maintenance makes the batches")
    func maintenance() async throws {
        try await withTestDatabase { database, _ in
            try await fill(database, 2500)
            try await database.execute("select errand.start_bulk('cancel', '{\"kind\": \"noop\"}', 'x')")
            let logger = Logger(label: "test.bulk") { _ in SwiftLogNoOpLogHandler() }
            let service = Maintenance(database: database, logger: logger)
            let running = Task { try await service.run() }
            #expect(
                try await database.becomes("count(*) = 1 from errand.bulk_status where state = 'done'", after: {}))
            running.cancel()
            try await running.value
            #expect(try await database.count("from errand.history where reason = 'bulk 1: x'") == 2500)
        }
    }
}
