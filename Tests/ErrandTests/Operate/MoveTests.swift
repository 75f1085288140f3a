import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Waiting jobs are moved by a filter") struct MoveTests {
    @Test("they are shown, then moved in their order, at most max_jobs in a call, until no row is left")
    func move() async throws {
        try await withTestDatabase { database, _ in
            for index in 1...6 {
                try await Queue(database: database).enqueue(Noop(), .tags(index % 2 == 0 ? "slow" : "fast"))
            }
            let call = """
                select job_id, was, now, beyond
                from errand.reschedule_where('{"tag": "fast"}', 'a customer waits', priority => 1, max_jobs => 2
                """
            #expect(
                try await database.text("\(call))", as: "errand_ops")
                    == "1|available|available|1\n3|available|available|1")
            #expect(try await database.count("from errand.job where priority = 1") == 0)
            for moved in ["1|available|available|\n3|available|available|", "5|available|available|", ""] {
                #expect(try await database.text("\(call), dry_run => false)", as: "errand_ops") == moved)
            }
            let order = "select id from errand.job where priority = 1 and queue_position > 6 order by queue_position"
            #expect(try await database.text(order) == "1\n3\n5")
            let audit = "select action, reason, target ->> 'priority', job_ids from errand.audit order by id"
            #expect(
                try await database.text(audit) == """
                    reschedule_where|a customer waits|1|[1,3]
                    reschedule_where|a customer waits|1|[5]
                    """)
        }
    }

    @Test("a moved job is found by a claim behind the mark of its new position; a running one stays")
    func visible() async throws {
        try await withTestDatabase { database, _ in
            for _ in 1...3 { try await Queue(database: database).enqueue(Noop(), .priority(3)) }
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(1).map(\.id) == [1])
            let moved = """
                select count(*)
                from errand.reschedule_where('{"kind": "noop"}', 'x', queue => 'default', priority => 1, dry_run => false)
                """
            #expect(try await database.text(moved) == "2")
            let claim = worker.claiming(3, from: [3, 3, 3, 3])
            let jobs = try claim.reply(await database.query(claim.statement)).jobs
            #expect(jobs.map(\.id) == [2, 3])
            #expect(jobs.allSatisfy { $0.priority == 1 && $0.position > 3 })
        }
    }

    @Test("per_minute spreads them over time, and a time that has come makes them available at once")
    func spread() async throws {
        try await withTestDatabase { database, _ in
            for _ in 1...3 { try await Queue(database: database).enqueue(Noop()) }
            let spread = """
                select job_id, now, extract(epoch from due_at - now())::int
                from errand.reschedule_where(
                    '{"kind": "noop"}', 'x', run_at => now() + interval '10 s', per_minute => 60, dry_run => false)
                """
            #expect(try await database.text(spread) == "1|scheduled|10\n2|scheduled|11\n3|scheduled|12")
            let due = """
                select count(*)
                from errand.reschedule_where('{"kind": "noop"}', 'x', run_at => now(), dry_run => false)
                """
            #expect(try await database.text(due) == "3")
            #expect(try await database.count("from errand.job where state = 'available' and run_at <= now()") == 3)
            #expect(try await database.text(due) == "0", "due jobs stay as they are")
        }
    }

    @Test("an unknown queue is rejected with similar names, and what makes no sense with a state of its own")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter(kinds: "image_compression", queue: "images")
            try await Queue(database: database).enqueue(Noop())
            let call = "select errand.reschedule_where('{\"kind\": \"noop\"}', 'x', dry_run => false"
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute(Statement("\(call), queue => 'imgaes')"))
            }
            #expect(error?.sqlState == "ER404")
            #expect(error?.hint?.hasPrefix("Is it images") == true)
            for argument in [
                "", ", priority => 5", ", per_minute => 0", ", run_at => 'infinity'", ", queue => 'No queue'",
                ", priority => 1, max_jobs => 0",
            ] {
                #expect(try await database.refusal(of: "\(call)\(argument))") == "ER422", "\(argument)")
            }
            #expect(try await database.text("select queue, priority from errand.job") == "default|2")
            #expect(try await database.refusal(of: "\(call), queue => 'imgaes', force => true)") == nil)
            #expect(try await database.text("select queue, priority from errand.job") == "imgaes|2")
        }
    }
}
