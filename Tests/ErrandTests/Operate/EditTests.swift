import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("The payload of a job is edited") struct EditTests {
    @Test("a job that waits or has failed runs with its new payload, small or large, and the audit has neither")
    func edit() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await database.execute(#"select errand.enqueue('noop', '"anna"', max_attempts => 1)"#)
            try await database.take(worker)
            try await database.fail(worker, with: "no")
            try await database.execute(#"select errand.enqueue('noop', '"anna"')"#)
            try await database.execute(
                #"select errand.enqueue('noop', '"anna"', run_at => now() + interval '1 hour')"#)
            let large = "to_jsonb((select string_agg(md5(n::text), '') from generate_series(1, 200) as n))"
            for payload in [large, #"'"ben"'"#, large] {
                let states =
                    "select id, errand.edit_job(id, \(payload), 'wrong person') from generate_series(1, 3) as id"
                #expect(try await database.text(states, as: "errand_ops") == "1|failed\n2|available\n3|scheduled")
            }
            // A replaced payload is deleted; a failed job has its own.
            #expect(try await database.count("from errand.payload") == 2)
            try await database.execute("select errand.retry('{1, 3}')")
            try await database.take(worker)
            let jobs = "select id, state, payload = \(large) from errand.jobs order by id"
            #expect(try await database.text(jobs) == "1|running|true\n2|running|true\n3|running|true")
            let audit = """
                select count(*), min(reason), bool_or(entry::text ~ ('anna|ben|' || md5('1')))
                from errand.audit as entry
                where action = 'edit_job'
                """
            #expect(try await database.text(audit) == "9|wrong person|false")
        }
    }

    @Test("a job that runs or has ended stays as it is, and the refusal says its state")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            for _ in 1...2 { try await Queue(database: database).enqueue(Noop()) }
            try await database.take(worker)
            func refusal(_ call: String) async -> PostgresError? {
                await #expect(throws: PostgresError.self) { try await database.execute(Statement(call)) }
            }
            let running = await refusal("select errand.edit_job(1, '1', 'wrong')")
            #expect(running?.sqlState == "ER409" && running?.detail.contains("running") == true)
            try await database.execute("select errand.cancel('{1}', 'wrong')")
            let cancelled = await refusal("select errand.edit_job(1, '1', 'wrong')")
            #expect(cancelled?.sqlState == "ER409" && cancelled?.detail.contains("cancelled") == true)
            #expect(await refusal("select errand.edit_job(3, '1', 'wrong')")?.sqlState == "ER404")
            #expect(await refusal("select errand.edit_job(1, '1', ' ')")?.sqlState == "ER422")
            #expect(await refusal("select errand.edit_job(1, null, 'wrong')")?.sqlState == "ER422")
            let huge = "select errand.edit_job(1, to_jsonb(repeat('x', 262143)), 'wrong')"
            #expect(await refusal(huge)?.sqlState == "ER413")
            #expect(try await database.count("from errand.jobs where payload = '1'") == 0)
        }
    }

    @Test("a claim that passed a job during its edit doesn't hide it: a claim behind the mark returns it")
    func visible() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 3))
            let worker = try await ManualWorker(database)
            try await database.transaction { transaction in
                try await transaction.execute("select errand.edit_job(2, '1', 'wrong')")
                #expect(try await worker.claim(3).map(\.id) == [1, 3])
            }
            let claim = worker.claiming(3, from: [9, 9, 9, 9])
            let reply = try claim.reply(await database.query(claim.statement))
            #expect(reply.jobs.map(\.id) == [2])
            #expect(reply.jobs.map(\.position) == [2])
        }
    }
}
