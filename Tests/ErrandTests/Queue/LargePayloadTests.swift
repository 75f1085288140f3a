import ErrandTestKit
import Postgres
import Testing

@testable import Errand

/// 9,600 characters that hardly compress.
private let large = """
    (select jsonb_build_object('text', string_agg(md5(n::text), '')) from generate_series(1, 300) as n)
    """

@Suite("Large payloads") struct LargePayloadTests {
    @Test(
        "however a job with a large payload is enqueued, its handler gets it, and its row holds none of it",
        arguments: [
            "errand.enqueue('noop', payload)", "errand.enqueue_payloads_v1('noop', array['{}', payload, '{}'])",
            "errand.enqueue('noop', payload, run_at => now() + interval '1 hour')",
            "errand.enqueue_many(jsonb_build_array(jsonb_build_object('kind', 'noop', 'payload', payload)))",
            """
            errand.enqueue_many(jsonb_build_array(jsonb_build_object(
                'kind', 'noop', 'payload', payload, 'unique_key', 'k', 'on_conflict', 'replace')))
            """,
        ])
    func enqueued(call: String) async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(Statement("select \(call) from \(large) as one(payload)"))
            #expect(
                try await database.text(
                    """
                    select
                        count(*), bool_and(job.payload is null), bool_and(payload_bytes = octet_length(\(large)::text))
                    from errand.job join errand.payload as stored on (stored.day, job_id) = (payload_day, id)
                    """) == "1|true|true")
            try await database.execute("update errand.job set run_at = now() where state = 'scheduled'")
            try await database.promote()
            let jobs = try await ManualWorker(database).claim(10)
            let texts = Set(jobs.map(\.payload.text))
            #expect(try await texts.subtracting(["{}"]) == [database.largeText()])
        }
    }

    @Test("a payload stays in the job's row if it is small or the job is due in more than a day")
    func inline() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop', '{\"text\": \"short\"}')")
            try await database.execute(
                Statement("select errand.enqueue('noop', \(large), run_at => now() + interval '25 hours')"))
            #expect(try await database.count("from errand.job where payload is not null and payload_day is null") == 2)
            #expect(try await database.count("from errand.payload") == 0)
        }
    }

    @Test("a job that has ended shows its large payload to operators and not to errand_monitor, however it ended")
    func ended() async throws {
        try await withTestDatabase { database, _ in
            try await database.enqueueLarge(6)
            let worker = try await ManualWorker(database)
            try await database.execute("update errand.job set not_after = now() - interval '1 s' where id = 1")
            var jobs = try await worker.claim(3)
            try await worker.end([jobs.removeFirst()])
            try await worker.end([jobs.removeFirst()], as: { .failed($0, error: "broken") })
            try await worker.end([jobs.removeFirst()], as: { .succeeded($0, output: JSONB("1")) })
            try await database.execute("select errand.cancel('{5}', 'test')")
            try await database.execute("select errand.cancel_where('{\"kind\": \"noop\"}', 'test', dry_run => false)")
            let states = "string_agg(state, ' ' order by id)"
            #expect(
                try await database.text(
                    "select \(states) from errand.jobs where payload = \(large)", as: "errand_ops")
                    == "obsolete succeeded failed succeeded cancelled cancelled")
            #expect(
                try await database.text(
                    "select count(*), count(payload) from errand.jobs", as: "errand_monitor") == "6|0")
            // A failed job doesn't keep the payloads of its day.
            #expect(try await database.count("from errand.payload") == 5)
            try await database.execute("select errand.discard('{3}', 'test')")
            #expect(try await database.count("from errand.jobs where payload = \(large)") == 6)
        }
    }

    @Test("jobs that are cleared out of the queue by the hundred keep their large payloads")
    func cleared() async throws {
        try await withTestDatabase { database, _ in
            try await database.enqueueLarge(150)
            try await database.execute("update errand.job set not_after = now() - interval '1 s'")
            let worker = try await ManualWorker(database)
            for _ in 0..<3 { #expect(try await worker.claim(10).isEmpty) }
            let obsolete = try await database.count(
                "from errand.jobs where state = 'obsolete' and payload = \(large)")
            #expect(obsolete == 150)
        }
    }

    @Test("failed and cancelled jobs that are retried have their large payload")
    func retried() async throws {
        try await withTestDatabase { database, _ in
            try await database.enqueueLarge(2)
            let worker = try await ManualWorker(database)
            let job = try #require(try await worker.claim(1).first)
            try await worker.end([job]) { .failed($0, error: "broken") }
            try await database.execute("select errand.cancel('{2}', 'test')")
            try await database.execute("select errand.retry('{1,2}')")
            #expect(try await worker.claim(10).map(\.payload.text) == [database.largeText(), database.largeText()])
            #expect(try await database.count("from errand.payload") == 0)
        }
    }

    @Test("a retried attempt and a job handed back get the payload again")
    func again() async throws {
        try await withTestDatabase { database, _ in
            try await database.enqueueLarge(1)
            let worker = try await ManualWorker(database)
            let ends: [(ClaimedJob) -> Completion] = [
                { .retried($0, error: "broken", after: .zero) }, { .released($0) }, { .snoozed($0, for: .zero) },
            ]
            for end in ends {
                let job = try #require(try await worker.claim(1).first)
                #expect(try await job.payload.text == database.largeText())
                try await worker.end([job], as: end)
            }
            #expect(try await worker.claim(1).count == 1)
            try await worker.dies()
            let next = try await ManualWorker(database).claim(1)
            #expect(try await next.map(\.payload.text) == [database.largeText()])
        }
    }

    @Test("a payload is replaced by a large or a small one, and a key that is taken stores none")
    func replaced() async throws {
        try await withTestDatabase { database, _ in
            func enqueue(_ payload: String, _ conflict: String) async throws -> String {
                try await database.execute(
                    Statement(
                        "select errand.enqueue('noop', \(payload), unique_key => 'k', on_conflict => '\(conflict)')"))
                return try await database.text(
                    """
                    select payload = \(large), payload ->> 'n', (select count(*) from errand.payload)
                    from errand.jobs
                    """)
            }
            #expect(try await enqueue("'{\"n\": 1}'", "keep") == "false|1|0")
            #expect(try await enqueue(large, "keep") == "false|1|0")
            #expect(try await enqueue(large, "replace") == "true||1")
            #expect(try await enqueue("jsonb_set(\(large), '{n}', '2')", "replace") == "false|2|1")
            #expect(try await enqueue("'{\"n\": 3}'", "replace") == "false|3|0")
            #expect(try await database.count("from errand.job where payload_bytes is null") == 1)
            try await database.execute(
                Statement(
                    """
                    select errand.enqueue_many(jsonb_agg(jsonb_build_object(
                        'kind', 'noop', 'payload', \(large), 'unique_key', 'm')))
                    from generate_series(1, 3)
                    """))
            #expect(try await database.count("from errand.payload") == 1)
        }
    }

    @Test("a guard is asked with the large payload, at the start and at the end")
    func guarded() async throws {
        try await withTestDatabase { database, _ in
            try await database.makeGuard()
            try await database.execute("insert into public.open values (1), (2)")
            for id in 1...3 {
                try await database.execute(
                    Statement("select errand.enqueue('noop', jsonb_set(\(large), '{id}', '\(id)'), guard => 'wanted')"))
            }
            let worker = try await ManualWorker(database)
            let jobs = try await worker.claim(10)
            #expect(jobs.map(\.id) == [1, 2])
            try await database.execute("delete from public.open where id = 2")
            try await worker.end(jobs)
            #expect(
                try await database.word("select string_agg(state, ' ' order by id) from errand.history")
                    == "succeeded obsolete obsolete")
        }
    }

    @Test("a drained job with a payload of 10 KB writes at most 1,500 bytes of WAL")
    func writes() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            var least = Int.max
            // A checkpoint during a round makes it larger.
            for _ in 0..<5 where least > 1500 {
                try await database.enqueueLarge(100)
                let claim =
                    "errand_internal.claim_v1('default', '{noop}', \(worker.id), 100, '{0,0,0,0}', '{1,2,3,4}', true)"
                var bytes = try await database.walBytes("select * from \(claim)")
                let held = "from errand.job where state = 'running'"
                let ids = try await database.word("select array_agg(id order by id) \(held)") ?? ""
                let lines = try await database.word("select array_agg(queue_position order by id) \(held)") ?? ""
                let finish = "errand_internal.finish_v1(\(worker.id), '\(ids)', '\(lines)', null)"
                bytes += try await database.walBytes("select * from \(finish)")
                least = min(least, bytes / 100)
            }
            #expect(least <= 1500)
            #expect(try await database.count("from errand.job") == 0)
        }
    }
}

extension Database {
    fileprivate func enqueueLarge(_ count: Int) async throws {
        try await execute(Statement("select errand.enqueue('noop', \(large)) from generate_series(1, \(count))"))
    }

    /// The payload as a worker gets it.
    fileprivate func largeText() async throws -> String { try await word("select \(large)") ?? "" }

    /// The WAL of a statement in this session, including full pages.
    fileprivate func walBytes(_ sql: String) async throws -> Int {
        let plan = try await query(Statement("explain (analyze, wal) \(sql)")).column(0, as: String.self)
        let bytes = plan.joined(separator: "\n").firstMatch(of: /WAL: .*bytes=(\d+)/)?.output.1
        return try #require(bytes.flatMap { Int($0) })
    }
}
