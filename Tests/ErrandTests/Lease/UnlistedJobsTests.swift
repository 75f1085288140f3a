import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Jobs that their worker holds no more") struct UnlistedJobsTests {
    @Test("a running job that two lists of its worker don't name is taken back, and counts neither attempt nor crash")
    func takenBack() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 3))
            let worker = try await ManualWorker(database)
            let jobs = try await worker.claim(3)
            let lost = jobs[2]
            let compare = { (known: [Int64], generation: Int32, named: ArraySlice<ClaimedJob>) in
                try await database.query(
                    Statement(
                        "select job_id, is_taken_back from errand_internal.unlisted_jobs_v1($1, $2, $3, $4, $5)",
                        [worker.id, generation, named.map(\.id), named.map(\.position), known])
                ).map { row -> String in
                    let (id, isTakenBack) = try row.decode(Int64.self, Bool.self)
                    return "\(id) \(isTakenBack)"
                }
            }
            #expect(try await compare([lost.position], 1, jobs[..<2]) == [], "its claim may be under way")
            try await database.execute("update errand.claim set claimed_at = claimed_at - interval '31 s'")
            #expect(
                try await compare([lost.position], 0, jobs[..<2]) == [], "the list covers no claim of its generation")
            #expect(try await compare([], 1, jobs[...]) == [])
            #expect(try await compare([], 1, jobs[..<2]) == ["\(lost.id) false"])
            #expect(try await compare([jobs[0].position], 1, jobs[..<2]) == ["\(lost.id) false"], "another was known")
            let health = "select ok, hint from errand.health() where check_name = 'stuck jobs'"
            #expect(try await database.text(health) == "true|")

            #expect(try await compare([lost.position], 1, jobs[..<2]) == ["\(lost.id) true"])
            #expect(
                try await database.text(
                    """
                    select state, attempt, crashes, worker_id is null, queue_position > \(lost.position),
                        attempts -> 0 ->> 'outcome', attempts -> 0 ->> 'error'
                    from errand.job
                    where id = \(lost.id)
                    """) == "available|0|0|true|true|released|its worker held it no more")
            #expect(
                try await database.text(health)
                    == "false|an error of Errand: select * from errand.audit where action = 'take_back'")
            #expect(
                try await database.text("select target ->> 'worker', jobs from errand.audit where action = 'take_back'")
                    == "hand|1")
            #expect(try await worker.end([lost]) == [lost.id], "the old attempt fails the fence")
            let again = try await worker.claim(1)
            #expect(again.map(\.id) == [lost.id] && again.first?.attempt == 1)
            #expect(try await worker.end(again + jobs[..<2]) == [])
            try await database.execute("update errand.action set done_at = done_at - interval '61 minutes'")
            #expect(try await database.text(health) == "true|")
        }
    }

    @Test("a job that was handed back and is being claimed once more, at its old position, is not taken back")
    func claimedAgain() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop())
            let worker = try await ManualWorker(database)
            let first = try await worker.claim(1)
            try await database.execute("update errand.claim set claimed_at = claimed_at - interval '31 s'")
            #expect(try await worker.end(first, as: { .released($0) }) == [])
            let second = try await worker.claim(1)
            #expect(second.map(\.position) == first.map(\.position))
            let asked = "from errand_internal.unlisted_jobs_v1(\(worker.id), 1, '{}', '{}', '{\(first[0].position)}')"
            #expect(try await database.count(asked) == 0)
        }
    }

    @Test("a worker finds a job that runs under its id alone in the database, and runs it")
    func found() async throws {
        try await withWorker(
            [SlowHandler { _ in try await Task.sleep(for: .seconds(60)) }, NoopHandler()],
            configure: { $0.heartbeatInterval = .milliseconds(200) }
        ) { database, queue in
            // Keeps the record of the first generation.
            try await queue.enqueue(Slow())
            #expect(try await database.becomes("exists (select from errand.job where state = 'running')"))
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '1 hour')")
            try await database.execute(
                """
                with forged as (
                    update errand.job
                    set state = 'running', queue_position = nextval('errand.job_position'), attempt = 1,
                        started_at = now(), worker_id = (select id from errand.worker)
                    where kind = 'noop'
                    returning id, worker_id
                )
                insert into errand.claim (worker_id, claimed_at, generation, job_ids)
                select worker_id, now() - interval '1 minute', 0, array[id] from forged
                """)
            #expect(
                try await database.becomes(
                    "exists (select from errand.history where kind = 'noop' and state = 'succeeded' and attempt = 1)"))
        }
    }
}
