import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The records of steps") struct StepRecordTests {
    @Test("steps stay while a failed or cancelled job can be retried, whatever its payload, and are gone with the job")
    func stays() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 6)")
            let jobs = try await worker.claim(6)
            for job in jobs { #expect(try await worker.step(job, "charge") == "recorded") }
            // 1 succeeds, 2 fails, 3 is cancelled, 4 is discarded, 5 fails and is gone, 6 runs.
            try await worker.end([jobs[0]])
            try await worker.end([jobs[1], jobs[3], jobs[4]]) { .failed($0, error: "x") }
            try await database.execute("select errand.cancel('{3}', 'x'), errand.discard('{4}', 'x')")
            try await database.execute("delete from errand.failed where id = 5")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.text("select job_id from errand.step order by 1") == "2\n3\n4\n6")
            try await database.execute("select errand.edit_job(2, '[2]', 'x'), errand.retry('{2,3,4}')")
            let again = try await worker.claim(3)
            #expect(again.map(\.id) == [2, 3, 4])
            for job in again { #expect(try await worker.step(job, "charge") == "known") }
            try await worker.end(again + [jobs[5]])
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.step") == 0)
        }
    }

    @Test("of more steps than a call of prune reads, the later calls read the rest, and then all of them anew")
    func pruneInParts() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop')")
            try await database.execute(
                "insert into errand.step (job_id, name) select n, 'x' from generate_series(1, 10500) as n")
            let prune = "select seen, removed from errand_internal.prune_steps()"
            #expect(try await database.text(prune) == "10000|9999")
            try await database.execute("insert into errand.step (job_id, name) values (2, 'x')")
            #expect(try await database.text(prune) == "500|500")
            #expect(try await database.text(prune) == "2|1")
            #expect(try await database.text("select job_id from errand.step") == "1")
        }
    }

    @Test("a job that replaces another one of its key has none of its steps, and one that was moved to a new time has")
    func replaced() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            for (conflict, steps) in [("reschedule", 1), ("replace", 0)] {
                _ = try await database.query("select errand.enqueue('noop', unique_key => 'key')")
                let job = try #require(try await worker.claim(1).first)
                #expect(try await worker.step(job, "charge") == "recorded")
                try await worker.end([job]) { .snoozed($0, for: .seconds(3600)) }
                _ = try await database.query(
                    Statement(
                        "select errand.enqueue('noop', '[2]', unique_key => 'key', on_conflict => $1)", [conflict]))
                #expect(try await database.count("from errand.step") == steps, "\(conflict)")
                try await worker.end(worker.claim(1))
                try await database.execute("truncate errand.step")
            }
        }
    }

    @Test("a job with steps stays in its cell; the erasure of its user removes them")
    func elsewhere() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.enqueue('noop', subject => 'ada') from generate_series(1, 3)")
            let jobs = try await worker.claim(2)
            for job in jobs {
                #expect(try await worker.step(job, "mail", output: JSONB(#"{"to": "ada"}"#)) == "recorded")
            }
            try await worker.end([jobs[0]]) { .snoozed($0, for: .seconds(3600)) }
            try await worker.end([jobs[1]]) { .snoozed($0, for: .zero) }
            let move = "select jobs from errand_internal.move_out_v1(gen_random_uuid(), 1, 'default', 1)"
            #expect(try await database.text(move) == "1")
            try await database.execute("delete from errand.outgoing")
            try await database.execute("select errand_internal.erase_subject('ada', 'asked to')")
            #expect(try await database.count("from errand.step") == 0)
        }
    }

    @Test("jobs of five steps end through stops of their worker, snoozes and failures; no step runs after its record")
    func random() async throws {
        let count = Hardness.isFull ? 10_000 : 150
        let handler = SteppingHandler { job, context in
            for index in 1...5 {
                let result = try await context.step("step \(index)") {
                    try await context.database.execute(
                        Statement(
                            """
                            insert into public.ran
                            select $1, $2, exists (select from errand.step where job_id = $1 and name = $2)
                            """, [context.id, "step \(index)"]))
                    return index
                }
                guard result == index else { return .fail(reason: "expected \(index), got \(result)") }
                switch Int.random(in: 0..<25) {
                case 0: return .retry(after: .zero, reason: "by chance")
                case 1: return .snooze(for: .zero)
                default: break
                }
            }
            return .done
        }
        var configuration = WorkerConfiguration.withoutMaintenance
        configuration.grace = .zero
        let fixed = configuration
        try await withTestDatabase { database, _ in
            try await database.execute("create table public.ran (job bigint, name text, was_recorded boolean)")
            try await Queue(database: database).enqueue(
                all: (1...count).map(Stepping.init), .maxAttempts(1000))
            var isDrained = false
            let end = ContinuousClock.now + .seconds(Hardness.isFull ? 3600 : 120)
            while !isDrained, ContinuousClock.now < end {
                let worker = Worker(
                    database: database, configuration: fixed, logger: Logger(label: "worker"),
                    handlers: Handlers([handler]))
                isDrained = try await worker.runs {
                    try await database.becomes(
                        "not exists (select from errand.job)", within: .milliseconds(Int64.random(in: 100...700)),
                        after: database.promote)
                }
            }
            #expect(isDrained)
            #expect(try await database.count("from errand.history where state = 'succeeded'") == count)
            #expect(try await database.count("from errand.step") == 5 * count)
            #expect(try await database.count("from public.ran where was_recorded") == 0)
            #expect(try await database.count("from (select distinct job, name from public.ran) as once") == 5 * count)
        }
    }
}

extension ManualWorker {
    /// Records a step. Returns the state that errand_internal.record_step_v1 returns.
    func step(_ job: ClaimedJob, _ name: String, output: JSONB? = nil) async throws -> String {
        try await database.query(
            Statement(
                "select state from errand_internal.record_step_v1($1, $2, $3, $4, $5)",
                [id, job.id, job.position, name, output])
        ).scalar(String.self)
    }
}
