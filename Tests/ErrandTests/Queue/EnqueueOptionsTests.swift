import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Enqueue options") struct EnqueueOptionsTests {
    @Test("20 sessions hammer one key: exactly one job", arguments: [Conflict.keep, .replace, .reschedule])
    func hammered(conflict: Conflict) async throws {
        try await withTestDatabase(connections: 20) { database, _ in
            let queue = Queue(database: database)
            let replies = try await withThrowingTaskGroup(of: [Enqueued].self) { group in
                for session in 0..<20 {
                    group.addTask {
                        var replies: [Enqueued] = []
                        for round in 0..<5 {
                            let job = Noop(sleepMilliseconds: session * 100 + round)
                            replies.append(try await queue.enqueue(job, .unique("one", onConflict: conflict)))
                        }
                        return replies
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(replies.count == 100)
            #expect(replies.count(where: \.isNew) == 1)
            #expect(Set(replies.map(\.id)).count == 1)
            #expect(try await database.count("from errand.job") == 1)
            #expect(try await ManualWorker(database).claim(10).count == 1)
        }
    }

    @Test("a taken key: keep, replace, reschedule and error work as documented")
    func conflicts() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let first = try await queue.enqueue(Noop(sleepMilliseconds: 1), .unique("key"), .after(.seconds(60)))
            #expect(first.isNew && first.state == "scheduled")
            let kept = try await queue.enqueue(Noop(sleepMilliseconds: 2), .unique("key"))
            #expect(kept == Enqueued(id: first.id, isNew: false, state: "scheduled"))
            #expect(try await database.word("select payload ->> 'sleep_ms' from errand.job") == "1")

            let moved = try await queue.enqueue(Noop(sleepMilliseconds: 3), .unique("key", onConflict: .reschedule))
            #expect(moved == Enqueued(id: first.id, isNew: false, state: "available"))
            #expect(try await database.word("select payload ->> 'sleep_ms' from errand.job") == "1")

            try await database.execute("update errand.job set attempt = 3")
            let replaced = try await queue.enqueue(
                Noop(sleepMilliseconds: 4), .unique("key", onConflict: .replace), .priority(1), .tags("new"))
            #expect(replaced == Enqueued(id: first.id, isNew: false, state: "available"))
            #expect(
                try await database.count(
                    """
                    from errand.job
                    where payload ->> 'sleep_ms' = '4' and priority = 1 and tags = '{new}' and attempt = 0
                    """
                ) == 1)

            let error = await #expect(throws: PostgresError.self) {
                try await queue.enqueue(Noop(), .unique("key", onConflict: .error))
            }
            #expect(error?.sqlState == "ER409")
            #expect(
                error?.detail
                    == "enqueue: unique_key: expected one that no unfinished job has, got that of job \(first.id)")
        }
    }

    @Test("a running job is never replaced or moved, and the result has its state")
    func runningStays() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            try await queue.enqueue(Noop(sleepMilliseconds: 1), .unique("key"))
            let worker = try await ManualWorker(database)
            let job = try await worker.claim(1)
            for conflict in [Conflict.replace, .reschedule] {
                let reply = try await queue.enqueue(
                    Noop(sleepMilliseconds: 2), .unique("key", onConflict: conflict), .after(.seconds(60)))
                #expect(reply.state == "running" && !reply.isNew)
            }
            #expect(try await worker.end(job) == [])
            #expect(try await database.word("select payload ->> 'sleep_ms' from errand.history") == "1")
        }
    }

    @Test("a job past its last moment frees its key for every enqueue and retry; one that runs keeps it")
    func expired() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let late = "not_after = now() - interval '1 s'"
            let expire = "update errand.job set \(late) where unique_key = 'key' returning id"
            let obsolete = "from errand.history where state = 'obsolete' and reason like 'not started by %' and id = "
            try await queue.enqueue(Noop(), .unique("key"), .after(.seconds(60)))
            let calls = ["keep", "replace", "reschedule", "error"].flatMap { conflict in
                [
                    "errand.enqueue('noop', unique_key => 'key', on_conflict => '\(conflict)')",
                    #"errand.enqueue_many('[{"kind": "noop", "unique_key": "key", "on_conflict": "\#(conflict)"}]')"#,
                ]
            }
            for call in calls {
                let old = try await database.query(Statement(expire)).scalar(Int64.self)
                let row = try await database.query(Statement("select job_id, inserted from \(call)"))[0]
                let (new, isNew) = try row.decode(Int64.self, Bool.self)
                #expect(isNew && new != old, "\(call)")
                #expect(try await database.count("\(obsolete)\(old)") == 1, "\(call)")
            }
            for isBulk in [false, true] {
                let both = "'{\"kind\": \"noop\"}', 'x', dry_run => false"
                try await queue.enqueue(Noop(), .unique("another"))
                let ids = "select id from errand.job where unique_key = 'key'"
                let back = try await database.query(Statement(ids)).scalar(Int64.self)
                try await database.execute(Statement("select errand.cancel_where(\(both))"))
                try await queue.enqueue(Noop(), .unique("key"))
                let old = try await database.query(Statement(expire)).scalar(Int64.self)
                #expect(try await database.count("from errand_internal.taken_keys_v1('{key}')") == 0)
                let conflict = "from errand.explain(\(back)) where code = 'unique_conflict'"
                #expect(try await database.count(conflict) == 0)
                let retry =
                    isBulk
                    ? #"errand.retry_where('{"state": "cancelled"}', dry_run => false)"# : "errand.retry('{\(back)}')"
                try await database.execute(Statement("select \(retry)"))
                #expect(try await database.count("from errand.job where unique_key = 'key' and id = \(back)") == 1)
                #expect(try await database.count("\(obsolete)\(old)") == 1)
            }
            #expect(try await ManualWorker(database).claim(10).count > 0)
            try await database.execute(Statement(expire))
            let kept = try await queue.enqueue(Noop(), .unique("key"))
            #expect(!kept.isNew && kept.state == "running")
        }
    }

    @Test("what a job may not ask for is refused, with what was expected and what came")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            let far = "run_at: expected a finite time, at most 10 years from now, got "
            for (option, state, message) in [
                (
                    "on_conflict => 'drop'", "ER422",
                    "on_conflict: expected keep, replace, reschedule, merge, supersede or error, got 'drop'"
                ),
                ("on_conflict => 'replace'", "ER422", "on_conflict: expected a unique_key beside replace, got none"),
                (
                    "run_at => '2030-01-02Z', not_after => '2030-01-01Z'", "ER422",
                    "not_after: expected a time after run_at, got 1 day before it"
                ),
                (
                    "limit_key => 'a*'", "ER422",
                    "limit_key: expected 1 to 500 characters without an asterisk at the end, got 'a*'"
                ),
                (
                    #"options => '{"traceparent": "00-1"}'::jsonb"#, "ER422",
                    "options.traceparent: expected 00-, 32 hex digits, -, 16 hex digits, -, 2 hex digits, got '00-1'"
                ),
                (#"options => '{"trace": "00-1"}'::jsonb"#, "ER422", "options: expected traceparent, got 'trace'"),
                ("options => '[]'::jsonb", "ER422", "options: expected an object, got array"),
                ("run_at => 'infinity'", "ER422", "\(far)infinity"),
                ("run_at => '-infinity'", "ER422", "\(far)-infinity"),
                ("run_at => '290000-01-01Z'", "ER422", "\(far)290000-01-01 00:00:00+00"),
                ("not_after => '-infinity'", "ER422", "not_after: expected a time, got -infinity"),
                (
                    "not_after => '2026-01-01Z'", "ER422",
                    "not_after: expected a time in the future, got 2026-01-01 00:00:00+00"
                ),
                ("subject => ''", "ER422", "subject: expected 1 to 200 characters, got 0"),
                ("subject => repeat('x', 201)", "ER422", "subject: expected 1 to 200 characters, got 201"),
                ("guard => 'nobody'", "ER404", "guard: expected one of errand.guard, got 'nobody'"),
                (
                    "tags => array_fill('x'::text, '{21}')", "ER422",
                    "tags: expected at most 20 words of 1000 characters in all, got 21 of 21"
                ),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select errand.enqueue('noop', \(option))"))
                }
                #expect(error?.sqlState == state)
                #expect(error?.detail == "enqueue: \(message)")
                let element = option.replacing(#/(\w+) => /#) { "'\($0.1)', " }
                let many = await #expect(throws: PostgresError.self) {
                    try await database.execute(
                        Statement(
                            """
                            select errand.enqueue_many(jsonb_build_array(
                                '{"kind": "noop"}'::jsonb, jsonb_build_object('kind', 'noop', \(element))))
                            """))
                }
                #expect(many?.sqlState == state)
                #expect(many?.detail == "enqueue_many: jobs[2]: \(message)")
            }
        }
    }

    @Test("tags begin at 1 for any bounds, and a job without a deadline has no latest start")
    func normalised() async throws {
        try await withTestDatabase { database, _ in
            for call in [
                "select errand.enqueue('noop', tags => '[5:6]={a,b}', not_after => 'infinity')",
                #"select errand.enqueue_many('[{"kind": "noop", "tags": "[0:1]={a,b}", "not_after": "infinity"}]')"#,
            ] {
                try await database.execute(Statement(call))
            }
            #expect(try await database.text("select tags[1], tags[2], not_after from errand.job") == "a|b|\na|b|")
            #expect(try await ManualWorker(database).claim(10).map(\.options?.tags) == [["a", "b"], ["a", "b"]])
            let refused = try await database.refusal(
                of: #"select errand.enqueue_many('[{"kind": "noop", "run_at": "infinity"}]')"#)
            #expect(refused == "ER422")
        }
    }

    @Test("enqueue_many names the element and the argument that it doesn't know")
    func unknownArgument() async throws {
        try await withTestDatabase { database, _ in
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute(
                    #"select errand.enqueue_many('[{"kind": "noop"}, {"kind": "noop", "prioriy": 1}]')"#)
            }
            #expect(error?.sqlState == "ER422")
            #expect(error?.detail == "enqueue_many: jobs[2]: expected the arguments of errand.enqueue, got 'prioriy'")
        }
    }

    @Test("enqueue_many names the element and the argument of a value that can't be read")
    func unreadableValue() async throws {
        try await withTestDatabase { database, _ in
            for (argument, message) in [
                (#""run_at": "tomorow""#, #"run_at: expected a time, got "tomorow""#),
                (#""not_after": "2026-13-01""#, #"not_after: expected a time, got "2026-13-01""#),
                (#""priority": "high""#, #"priority: expected an integer, got "high""#),
                (#""max_attempts": 1.5"#, "max_attempts: expected an integer, got 1.5"),
                (#""tags": "import""#, #"tags: expected an array of strings, got "import""#),
                (#""tags": {"a": 1}"#, #"tags: expected an array of strings, got {"a": 1}"#),
            ] {
                for way in ["", #", "unique_key": "a""#, #", "unique_key": "a", "on_conflict": "replace""#] {
                    let error = await #expect(throws: PostgresError.self) {
                        try await database.execute(
                            Statement(
                                """
                                select errand.enqueue_many(
                                    '[{"kind": "noop"}, {"kind": "noop", \(argument)\(way)}, {"kind": "noop", "tags": 1}]')
                                """))
                    }
                    #expect(error?.sqlState == "ER422")
                    #expect(error?.detail == "enqueue_many: jobs[2]: \(message)")
                }
            }
        }
    }

    @Test("enqueue_many returns the same for taken keys as enqueue does, in order")
    func manyConflicts() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop(), .unique("taken"), .after(.seconds(60)))
            let rows = try await database.query(
                """
                select ordinal, job_id, inserted, state
                from errand.enqueue_many('[
                    {"kind": "noop"}, {"kind": "noop", "unique_key": "taken"},
                    {"kind": "noop", "unique_key": "new"}, {"kind": "noop", "unique_key": "new"},
                    {"kind": "noop", "unique_key": "taken", "on_conflict": "reschedule"}]')
                """)
            let replies = try rows.map { try $0.decode(Int32.self, Int64.self, Bool.self, String.self) }
            #expect(replies.map(\.0) == [1, 2, 3, 4, 5])
            #expect(replies.map(\.2) == [true, false, true, false, false])
            #expect(replies[1].1 == replies[4].1 && replies[2].1 == replies[3].1)
            #expect(replies.map(\.3) == ["available", "scheduled", "available", "available", "available"])
        }
    }

    @Test("many calls with the same keys in opposite orders don't wait for each other for ever")
    func noDeadlock() async throws {
        try await withTestDatabase { database, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in ["asc", "desc", "asc", "desc"] {
                    group.addTask {
                        for _ in 0..<10 {
                            try await database.execute(
                                Statement(
                                    """
                                    select count(*) from errand.enqueue_many((
                                        select jsonb_agg(jsonb_build_object('kind', 'noop', 'unique_key', 'k' || n)
                                            order by n \(order))
                                        from generate_series(1, 200) as n))
                                    """))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.count("from errand.job") == 200)
        }
    }

    @Test("20,000 jobs are enqueued in one call from Swift, all or none, with results in order")
    func bulk() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let ids = try await queue.enqueue(all: (0..<20_000).map { Noop(sleepMilliseconds: $0) })
            #expect(ids.count == 20_000 && Set(ids).count == 20_000)
            let isInOrder = try await database.query(
                Statement(
                    """
                    select bool_and((job.payload ->> 'sleep_ms')::int = ordinal - 1)
                    from unnest($1) with ordinality as one(id, ordinal)
                    join errand.job on job.id = one.id
                    """, [ids]))
            #expect(try isInOrder.scalar(Bool.self))
            let large = Noop(output: .string(String(repeating: "x", count: 300_000)))
            let error = await #expect(throws: PostgresError.self) {
                try await queue.enqueue(all: [Noop](repeating: Noop(), count: 5000) + [large])
            }
            #expect(error?.sqlState == "ER413")
            #expect(try await database.count("from errand.job") == 20_000)
        }
    }

    @Test("options that a bulk enqueue is given hold for each of its jobs")
    func bulkOptions() async throws {
        try await withTestDatabase { database, _ in
            let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            let ids = try await Queue(database: database).enqueue(
                all: (0..<10).map { Noop(sleepMilliseconds: $0) }, .tags("a", "b"), .traceparent(trace),
                .subject("anna"), .limited(by: "tenant/1"), .notAfter(.init(microseconds: 1_000_000_000_000_000)),
                .after(.seconds(60)))
            #expect(ids == ids.sorted() && ids.count == 10)
            #expect(
                try await database.count(
                    """
                    from errand.job
                    where tags = '{a,b}' and options = '{"traceparent": "\(trace)"}' and limit_key = 'tenant/1' and subject = 'anna'
                        and not_after = '2031-09-09 01:46:40Z' and run_at - created_at = interval '60 seconds'
                    """) == 10)
            let shown = try await database.text("select count(subject) from errand.jobs", as: "errand_monitor")
            #expect(shown == "0")
        }
    }

    @Test("a job that is too late when a claim reads it is obsolete, and never starts")
    func tooLate() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let late = try await queue.enqueue(Noop(), .notAfter(.init(microseconds: 1_000_000_000_000_000))).id
            try await database.execute("update errand.job set not_after = '2000-01-01Z'")
            let intime = try await queue.enqueue(Noop(), .notAfter(.infinity)).id
            #expect(try await ManualWorker(database).claim(10).map(\.id) == [intime])
            #expect(
                try await database.word("select reason from errand.history where id = \(late) and state = 'obsolete'")
                    == "not started by 2000-01-01 00:00:00+00")
        }
    }

    @Test("tags, trace, limit and subject stay with a job to its end, and come back when it is retried")
    func stays() async throws {
        try await withTestDatabase { database, _ in
            let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            let queue = Queue(database: database)
            let id = try await queue.enqueue(
                Noop(), .tags("a"), .traceparent(trace), .limited(by: "k"), .subject("anna"), .maxAttempts(1)
            ).id
            let worker = try await ManualWorker(database)
            let job = try #require(try await worker.claim(1).first)
            #expect(job.options?.tags == ["a"] && job.options?.forWorker.traceparent == trace)
            try await worker.end([job]) { .failed($0, error: "broken") }
            #expect(
                try await database.count(
                    """
                    from errand.failed
                    where tags = '{a}' and options ->> 'traceparent' = '\(trace)' and subject = 'anna'
                    """) == 1)
            try await database.execute(Statement("select errand.retry($1, reason => 'fixed')", [[id]]))
            let again = try #require(try await worker.claim(1).first)
            #expect(again.id == id && again.attempt == 1 && again.options?.limitKey == "k")
            #expect(try await database.count("from errand.job where jsonb_array_length(attempts) = 1") == 1)
            try await worker.end([again])
            #expect(
                try await database.count(
                    "from errand.history where tags = '{a}' and limit_key = 'k' and subject = 'anna'") == 1)
        }
    }
}
