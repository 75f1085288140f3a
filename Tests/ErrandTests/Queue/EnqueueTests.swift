import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Enqueuing") struct EnqueueTests {
    @Test("a job exists if and when its transaction commits")
    func followsTransaction() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            struct Undo: Error {}
            await #expect(throws: Undo.self) {
                try await database.transaction { transaction in
                    try await queue.enqueue(Noop(), in: transaction)
                    throw Undo()
                }
            }
            #expect(try await database.count("from errand.job") == 0)
            try await database.transaction { try await queue.enqueue(Noop(), in: $0) }
            #expect(
                try await database.count("from errand.job where state = 'available' and queue_position is not null")
                    == 1)
        }
    }

    @Test("without options, an enqueue inserts the row itself")
    func shortForm() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let calls = try await database.transaction { transaction in
                try await transaction.execute("set local track_functions = 'pl'")
                try await queue.enqueue(Noop(), in: transaction)
                try await queue.enqueue(Noop(), in: transaction, .after(.zero))
                return try await transaction.query(
                    "select coalesce(sum(calls), 0)::int from pg_stat_xact_user_functions where funcname = 'insert_job'"
                ).scalar(Int.self)
            }
            #expect(calls == 1, "the one with an option goes the longer way")
        }
    }

    @Test("a unique key belongs to one unfinished job, with 20 concurrent sessions, and is free after its completion")
    func uniqueKey() async throws {
        try await withTestDatabase(connections: 20) { database, _ in
            let queue = Queue(database: database)
            let replies = try await withThrowingTaskGroup(of: Enqueued.self) { group in
                for _ in 0..<20 { group.addTask { try await queue.enqueue(Noop(), .unique("one")) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(replies.count(where: \.isNew) == 1)
            #expect(Set(replies.map(\.id)).count == 1)
            try await database.execute(Statement("select errand.cancel($1, 'done with it')", [[replies[0].id]]))
            #expect(try await queue.enqueue(Noop(), .unique("one")).isNew)
        }
    }

    @Test("a job for later waits as scheduled, and becomes available when due")
    func later() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop(), .after(.seconds(3600)))
            #expect(
                try await database.count("from errand.job where state = 'scheduled' and queue_position is null") == 1)
            try await database.promote()
            #expect(try await database.count("from errand.job where state = 'scheduled'") == 1)
            try await database.execute("update errand.job set run_at = now() - interval '1 s'")
            try await database.promote()
            #expect(
                try await database.count("from errand.job where state = 'available' and queue_position is not null")
                    == 1)
        }
    }

    @Test("what could not be stored or run is refused, with what was expected and what came")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            for (call, state, message) in [
                (
                    "errand.enqueue('Image')", "ER422",
                    "enqueue: kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got 'Image'"
                ),
                (
                    "errand.enqueue('noop', priority => 5)", "ER422",
                    "enqueue: priority: expected 1 (first) to 4 (last), got 5"
                ),
                (
                    "errand.enqueue('noop', max_attempts => 0)", "ER422",
                    "enqueue: max_attempts: expected 1 to 1000, got 0"
                ),
                ("errand.enqueue('noop', null)", "ER422", "enqueue: payload: expected JSON, got null"),
                ("errand.enqueue_many('{}')", "ER422", "enqueue_many: jobs: expected a JSON array, got object"),
                (
                    #"errand.enqueue_many('[{"kind": "noop"}, 7]')"#, "ER422",
                    "enqueue_many: jobs[2]: expected an object, got number"
                ),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select \(call)"))
                }
                #expect(error?.sqlState == state, "\(call)")
                #expect(error?.detail == message)
            }
            let stored = try await database.count("from errand.job")
            #expect(stored == 0)
        }
    }

    @Test("a payload over 256 KB is refused, one and many, and a small one beside it is not stored either")
    func largePayload() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let large = Noop(output: .string(String(repeating: "x", count: 300_000)))
            let one = await #expect(throws: PostgresError.self) { try await queue.enqueue(large) }
            #expect(one?.sqlState == "ER413")
            let many = await #expect(throws: PostgresError.self) { try await queue.enqueue(all: [Noop(), large]) }
            #expect(many?.sqlState == "ER413")
            let stored = try await database.count("from errand.job")
            #expect(stored == 0)
        }
    }

    @Test("100,000 jobs are enqueued in one call, with results in order")
    func many() async throws {
        try await withTestDatabase { database, _ in
            let rows = try await database.query(
                """
                select count(*), count(distinct job_id), bool_and(inserted), max(ordinal)
                from errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object('kind', 'noop', 'priority', 1 + n % 4))
                    from generate_series(1, 100000) as n))
                """)
            let (count, distinct, inserted, last) = try rows[0].decode(Int.self, Int.self, Bool.self, Int32.self)
            #expect(count == 100_000 && distinct == 100_000 && inserted && last == 100_000)
        }
    }

    @Test("what is out of bounds is refused in one of many as in one alone, and what is just within them is not")
    func bounds() async throws {
        try await withTestDatabase { database, _ in
            func enqueue(_ element: String) async throws {
                try await database.execute(
                    Statement(
                        """
                        select errand.enqueue_many(
                            jsonb_build_array('{"kind": "noop"}'::jsonb, '{"kind": "noop"}'::jsonb || $1::jsonb))
                        """, [element]))
            }
            for (good, bad, message) in Self.bounds {
                try await enqueue(good)
                let error = await #expect(throws: PostgresError.self) { try await enqueue(bad) }
                #expect(error?.detail == "enqueue_many: jobs[2]: \(message)")
                #expect(try await database.count("from errand.job") == 2, "\(message)")
                try await database.execute("delete from errand.job")
            }
        }
    }

    /// An element of `enqueue_many` just within a bound, one beyond it, and its error.
    private static let bounds = [
        (#"{"priority": 4}"#, #"{"priority": 5}"#, "priority: expected 1 (first) to 4 (last), got 5"),
        (#"{"priority": 1}"#, #"{"priority": 0}"#, "priority: expected 1 (first) to 4 (last), got 0"),
        (#"{"max_attempts": 1000}"#, #"{"max_attempts": 1001}"#, "max_attempts: expected 1 to 1000, got 1001"),
        (#"{"max_attempts": 1}"#, #"{"max_attempts": 0}"#, "max_attempts: expected 1 to 1000, got 0"),
        (#"{"unique_key": "1"}"#, #"{"unique_key": ""}"#, "unique_key: expected 1 to 500 characters, got 0"),
        (
            #"{"unique_key": "\#(String(repeating: "é", count: 500))"}"#,
            #"{"unique_key": "\#(String(repeating: "é", count: 501))"}"#,
            "unique_key: expected 1 to 500 characters, got 501"
        ),
        (
            #"{"queue": "\#(String(repeating: "q", count: 100))"}"#,
            #"{"queue": "\#(String(repeating: "q", count: 101))"}"#,
            "queue: expected a-z, then up to 99 of a-z 0-9 _ . -, got '\(String(repeating: "q", count: 101))'"
        ),
        (
            #"{"kind": "\#(String(repeating: "k", count: 100))"}"#,
            #"{"kind": "\#(String(repeating: "k", count: 101))"}"#,
            "kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got '\(String(repeating: "k", count: 101))'"
        ),
        (#"{"kind": "a"}"#, #"{"kind": ""}"#, "kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got ''"),
        (
            #"{"kind": "a-_.9"}"#, #"{"kind": "a\n"}"#,
            // An error is one line.
            "kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got 'a; '"
        ),
        (#"{"queue": null}"#, #"{"kind": null}"#, "kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got null"),
        (#"{"queue": "a"}"#, #"{"queue": "A"}"#, "queue: expected a-z, then up to 99 of a-z 0-9 _ . -, got 'A'"),
        (
            #"{"limit_key": "\#(String(repeating: "l", count: 500))"}"#, #"{"limit_key": ""}"#,
            "limit_key: expected 1 to 500 characters without an asterisk at the end, got ''"
        ),
        (
            #"{"payload": "\#(String(repeating: "p", count: 262_142))"}"#,
            #"{"payload": "\#(String(repeating: "p", count: 262_143))"}"#,
            "payload: expected at most 262144 bytes as text, got 262145"
        ),
        (
            #"{"payload": \#(nested(64))}"#, #"{"payload": \#(nested(65))}"#,
            "payload: expected at most 64 objects and arrays within each other, got more"
        ),
        (
            #"{"payload": [\#(nested(63)), {}], "unique_key": "a"}"#,
            #"{"payload": [{}, \#(nested(64))], "unique_key": "a"}"#,
            "payload: expected at most 64 objects and arrays within each other, got more"
        ),
    ]

    /// Arrays in objects in arrays, `levels` in all.
    private static func nested(_ levels: Int) -> String {
        (0..<levels).reduce("") { inner, level in
            level % 2 == 0 ? "[\(inner)]" : #"{"a": \#(inner)}"#
        }
    }

    @Test("a payload of over 64 levels is refused wherever payloads come from, and a small one beside it too")
    func depth() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '1 hour')")
            for call in [
                "errand.enqueue('noop', $1::jsonb)", "errand.enqueue_payloads_v1('noop', array['{}', $1::jsonb])",
                "errand.edit_job((select id from errand.job), $1::jsonb, 'test')",
                "errand.put_schedule('nightly', '0 3 * * *', 'noop', $1::jsonb)",
            ] {
                try await database.transaction {
                    try await $0.execute(Statement("select \(call)", [JSONB(Self.nested(64))]))
                    try await $0.execute("delete from errand.job where run_at <= now()")
                }
                for levels in [65, 505, 2000] {
                    let error = await #expect(throws: PostgresError.self) {
                        try await database.execute(Statement("select \(call)", [JSONB(Self.nested(levels))]))
                    }
                    #expect(error?.sqlState == "ER422", "\(call)")
                    #expect(error?.detail.contains("expected at most 64 objects and arrays") == true, "\(call)")
                }
            }
            #expect(try await database.count("from errand.job") == 1)
        }
    }

    @Test("each row of the result names the job of its element, with keys in any order and with defaults of kinds")
    func order() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.kind (name, queue, max_attempts, priority)
                select 'kind_' || n, 'queue_' || n % 7, 3, 1 + n % 4 from generate_series(1, 300) as n
                """)
            try await database.execute("analyze errand.kind")
            for key in ["null", "'key_' || (n * 7919) % 2000"] {
                let rows = try await database.query(
                    Statement(
                        """
                        with answer as materialized (
                            select *
                            from errand.enqueue_many((
                                select jsonb_agg(jsonb_build_object(
                                    'kind', 'kind_' || n % 400, 'payload', n, 'unique_key', \(key)))
                                from generate_series(1, 2000) as n)))
                        select ordinal, job_id, inserted, state from answer order by ordinal
                        """))
                let replies = try rows.map { try $0.decode(Int32.self, Int64.self, Bool.self, String.self) }
                #expect(replies.map(\.0) == Array(1...2000))
                #expect(replies.allSatisfy { $0.2 && $0.3 == "available" })
                let inOrder = try await database.query(
                    Statement(
                        """
                        select count(*)
                        from unnest($1::bigint[]) with ordinality as one(id, ordinal)
                        join errand.job using (id)
                        where payload::text::int = ordinal
                        """, [replies.map(\.1)])
                ).scalar(Int.self)
                #expect(inOrder == 2000)
                #expect(
                    try await database.count(
                        "from errand.job join errand.kind on name = kind where job.queue <> kind.queue") == 0)
                #expect(try await database.count("from errand.job where queue = 'default'") == 500)
                try await database.execute("delete from errand.job")
            }
        }
    }

    @Test("many jobs within the bounds are checked without a call for each")
    func checkedTogether() async throws {
        try await withTestDatabase { database, _ in
            let calls = try await database.transaction { transaction in
                try await transaction.execute("set local track_functions = 'pl'")
                try await transaction.execute(
                    """
                    select count(*) from errand.enqueue_many((
                        select jsonb_agg(jsonb_build_object(
                            'kind', 'noop', 'queue', 'mail', 'priority', 1, 'max_attempts', 3, 'payload',
                            jsonb_build_object('text', repeat('x', 1000)), 'limit_key', 'a', 'run_at', now()))
                        from generate_series(1, 1000)))
                    """)
                return try await transaction.query(
                    """
                    select sum(pg_stat_get_xact_function_calls(oid))::bigint
                    from pg_proc
                    where pronamespace = any (errand_internal.namespaces())
                    """
                ).first!.decode(Int64.self)
            }
            #expect(calls > 0)
            #expect(calls < 20)
        }
    }

    @Test("queue, priority and attempts default to a worker's registration of the kind")
    func kindDefaults() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                select errand_internal.register_worker_v1('w', '1', '1 min', '{mail}',
                    '[{"name": "letter", "queue": "mail", "max_attempts": 3, "priority": 1}]')
                """)
            try await database.execute("select errand.enqueue('letter')")
            let row = try await database.query("select queue, max_attempts, priority from errand.job")
            #expect(try row[0].decode(String.self, Int.self, Int.self) == ("mail", 3, 1))
        }
    }
}
