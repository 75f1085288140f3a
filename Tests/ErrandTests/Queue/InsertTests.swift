import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

/// What holds for every function that inserts jobs. No trigger sees to it.
@Suite("Inserts of jobs") struct InsertTests {
    /// A function with an insert of its own, and a call that reaches it.
    struct Insert: Sendable, CustomTestStringConvertible {
        var function: String
        var call: String
        /// Runs before the call.
        var given: [String] = []
        var testDescription: String { "\(function): \(call)" }
    }

    private static let inserts = [
        Insert(function: "enqueue", call: "select errand.enqueue('noop')"),
        Insert(function: "insert_job", call: "select errand.enqueue('noop', unique_key => 'k')"),
        Insert(function: "insert_job", call: "select errand.enqueue('noop', tags => '{a}')"),
        Insert(
            function: "insert_job", call: "select errand.enqueue('noop', jsonb_build_object('a', repeat('a', 9999)))"),
        Insert(
            function: "insert_job", call: "select errand.enqueue('limited')",
            given: [
                """
                insert into errand.kind (name, queue, priority, max_attempts, limit_key)
                values ('limited', 'default', 2, 10, 'l')
                """
            ]),
        Insert(function: "insert_jobs", call: #"select errand.enqueue_many('[{"kind": "noop"}]')"#),
        Insert(
            function: "insert_keyed_jobs",
            call: #"select errand.enqueue_many('[{"kind": "noop", "unique_key": "k"}]')"#),
        Insert(
            function: "enqueue_payloads_v1", call: "select errand.enqueue_payloads_v1('noop', array['{}'::jsonb])"),
        Insert(
            function: "requeue_jobs", call: "select errand.retry(array[1]::bigint[])",
            given: ["select errand.enqueue('noop')", "select errand.cancel(array[1]::bigint[], 'test')"]),
        Insert(
            function: "undo_jobs", call: "select errand.undo(1)",
            given: ["select errand.enqueue('noop')", "select errand.cancel(array[1]::bigint[], 'test')"]),
        Insert(
            function: "move_in_v1",
            call: """
                select errand_internal.move_in_v1(gen_random_uuid(), 1, array[jsonb_populate_record(
                    null::errand.moving_job, '{"id": 1, "created_at": "2026-11-27", "run_at": "2026-11-27",
                    "attempt": 0, "crashes": 0, "is_due": true, "queue": "default", "kind": "noop", "priority": 2,
                    "max_attempts": 1}')])
                """),
    ]

    @Test("these are all functions that insert jobs")
    func all() async throws {
        try await withTestDatabase { database, _ in
            let found = try await lines(
                of: database,
                """
                select distinct proname::text from pg_proc
                where pronamespace = any (errand_internal.namespaces()) and prosrc ~ 'insert into errand\\.job\\M'
                order by 1
                """)
            #expect(found == Set(Self.inserts.map(\.function)).sorted())
        }
    }

    @Test("each wakes a sleeping worker once, also for a job that is due later", .timeLimit(.minutes(2)))
    func wakes() async throws {
        let scheduled = [
            Insert(function: "", call: "select errand.enqueue('noop', run_at => now() + interval '1 hour')"),
            Insert(
                function: "",
                call: #"select errand.enqueue_many('[{"kind": "noop", "run_at": "infinity"}]')"#
                    .replacing("infinity", with: "2030-01-01")),
        ]
        for insert in Self.inserts + scheduled {
            try await withTestDatabase { database, configuration in
                // A pooler in transaction mode forwards no notifications.
                let configuration = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
                for call in insert.given { try await database.execute(Statement(call)) }
                try await database.execute("select errand_internal.set_wake_flag_v1(true)")
                let listener = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
                try await listener.listen("errand_wake")
                try await database.execute(Statement(insert.call))
                try await database.execute("select pg_notify('errand_wake', 'last')")
                var payloads: [String] = []
                for await notification in listener.notifications {
                    payloads.append(notification.payload)
                    if notification.payload == "last" { break }
                }
                #expect(payloads == ["", "last"], "\(insert.testDescription)")
                await listener.close()
            }
        }
    }

    @Test("each takes its transaction id before it draws a position: the marks rest on that", arguments: inserts)
    func transactionFirst(insert: Insert) async throws {
        try await withTestDatabase { database, _ in
            for call in insert.given { try await database.execute(Statement(call)) }
            // While this transaction is open, a call stops where it draws the position.
            try await database.transaction { holder in
                try await holder.execute("alter sequence errand.job_position increment by 1")
                async let insertion = database.execute(Statement(insert.call))
                var (waits, hasID) = (false, false)
                let start = ContinuousClock.now
                while !waits, .now - start < .seconds(60) {
                    (waits, hasID) = try await database.query(
                        """
                        select count(*) > 0, coalesce(bool_and(exists (
                            select from pg_locks as own
                            where own.pid = waiting.pid and own.locktype = 'transactionid' and own.granted)), false)
                        from pg_locks as waiting
                        where waiting.relation = 'errand.job_position'::regclass and not waiting.granted
                            and waiting.database = (select oid from pg_database where datname = current_database())
                        """)[0].decode(Bool.self, Bool.self)
                }
                #expect(waits && hasID)
                try await holder.execute("rollback")
                try await holder.execute("begin")
                _ = try await insertion
            }
        }
    }

    @Test("a plain job has the values of its kind, and the same errors as any other")
    func plain() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.kind (name, queue, priority, max_attempts) values ('mail', 'outbox', 3, 7)
                """)
            try await database.execute("select errand.enqueue('mail')")
            try await database.execute("select errand.enqueue('mail', '[1]', 'other', null, 1, 2)")
            try await database.execute("select errand.enqueue('noop')")
            #expect(
                try await lines(
                    of: database,
                    """
                    select concat_ws(' ', queue, kind, payload, state, queue_position, priority, max_attempts)
                    from errand.job order by id
                    """) == [
                        "outbox mail {} available 1 3 7", "other mail [1] available 2 1 2",
                        "default noop {} available 3 2 10",
                    ])
            // Numbers that are short in a row, and long as text.
            let long = "(select jsonb_agg(9e99999::numeric) from generate_series(1, 3))"
            let nested = "(repeat('[', 66) || repeat(']', 66))::jsonb"
            for (arguments, error) in [
                ("null", "kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got null"),
                ("'Mail'", "kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got 'Mail'"),
                ("'mail', null", "payload: expected JSON, got null"),
                ("'mail', \(long)", "payload: expected at most 262144 bytes as text, got 300006"),
                ("'mail', \(nested)", "payload: expected at most 64 objects and arrays within each other, got more"),
                ("'mail', queue => ''", "queue: expected a-z, then up to 99 of a-z 0-9 _ . -, got ''"),
                ("'mail', priority => 5", "priority: expected 1 (first) to 4 (last), got 5"),
                ("'mail', max_attempts => 0", "max_attempts: expected 1 to 1000, got 0"),
                ("'mail', unique_key => ''", "unique_key: expected 1 to 500 characters, got 0"),
                (
                    "'mail', on_conflict => null",
                    "on_conflict: expected keep, replace, reschedule, merge, supersede or error, got null"
                ),
            ] {
                let refused = await #expect(throws: PostgresError.self, "\(arguments)") {
                    try await database.execute(Statement("select errand.enqueue(\(arguments))"))
                }
                #expect(refused?.detail == "enqueue: " + error)
            }
            #expect(try await database.count("from errand.job") == 3)
        }
    }

    private func lines(of database: Database, _ query: Statement) async throws -> [String] {
        try await database.query(query).column(0, as: String.self)
    }

    @Test("a payload that a table keeps compressed is as large as its text")
    func compressed() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create table public.source (id int, payload jsonb)")
            try await database.execute(
                """
                insert into public.source
                select n, jsonb_build_object('a', repeat('a', n)) from unnest('{9999, 10000000}'::int[]) as n
                """)
            #expect(
                try await database.count("from public.source where id = 9999 and pg_column_size(payload) < 2000") == 1)
            let enqueue = "select errand.enqueue('noop', payload) from public.source where id ="
            try await database.execute(Statement("\(enqueue) 9999"))
            #expect(try await database.refusal(of: "\(enqueue) 10000000") == "ER413")
        }
    }
}
