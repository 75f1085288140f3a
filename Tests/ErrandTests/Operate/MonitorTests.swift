import AppTestKit
import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("What a monitor sees") struct MonitorTests {
    @Test(
        "it reads each view and asks each question, and finds nothing that a job holds, an error quotes or a log says")
    func content() async throws {
        try await withTestDatabase { database, _ in
            try await Self.fill(database)
            let names = """
                select coalesce(string_agg(oid::regclass::text, ' '), '') from pg_class
                where relnamespace = 'errand'::regnamespace and relkind = 'v'
                """
            let views =
                try await database.text(names).split(separator: " ").map(String.init)
                + [
                    "errand.health()", "errand.metrics()", "errand.explain(1)", "errand.explain(2)",
                    "errand.explain(3)",
                ]
            #expect(views.count > 15)
            for view in views {
                let all = "select string_agg(row_to_json(seen)::text, ' ') from \(view) as seen"
                let seen = try await database.text(all, as: "errand_monitor")
                #expect(!seen.contains("anna"), "\(view)")
            }
            let jobs = """
                select id, state, progress, (payload, attempts, output, progress_message, log) is null
                from errand.jobs order by id
                """
            #expect(
                try await database.text(jobs, as: "errand_monitor")
                    == "1|failed|0.5|true\n2|scheduled||true\n3|available||true\n4|succeeded||true")
            #expect(
                try await database.text(
                    "select kind, failures, fingerprint, last_error from errand.failures", as: "errand_monitor")
                    == "noop|1||")
        }
    }

    @Test("ops see all of it")
    func operators() async throws {
        try await withTestDatabase { database, _ in
            try await Self.fill(database)
            for view in [
                "jobs", "job_progress", "job_steps", "failures", "circuits", "explain(1)", "explain(2)", "audit",
                "bulk_status",
            ] {
                let all = "select string_agg(row_to_json(seen)::text, ' ') from errand.\(view) as seen"
                #expect(try await database.text(all, as: "errand_ops").contains("anna"), "\(view)")
            }
        }
    }

    @Test("each call that a hint names is one that ops may make")
    func hints() async throws {
        try await withTestDatabase { database, _ in
            let refused = #"""
                select string_agg(distinct hinting.proname || ': ' || named.proname, ', ')
                from pg_proc as hinting
                cross join lateral regexp_matches(
                    prosrc, $$'[^'\n]*select (?:\* from )?errand\.(\w+)\($$, 'g') as call
                join pg_proc as named on named.pronamespace = 'errand'::regnamespace and named.proname = call[1]
                where hinting.pronamespace = any (errand_internal.namespaces()) and hinting.proname ~ '^(health|explain)'
                    and not has_function_privilege('errand_ops', named.oid, 'execute')
                """#
            let names = try await database.text(refused)
            #expect(names == "")
        }
    }

    @Test("it reads all columns of the apps' views except owners and contents")
    func apps() async throws {
        try await withAppDatabase { database, _ in
            let hidden = """
                select attrelid::regclass || ': ' || coalesce(string_agg(attname, ' ' order by attnum) filter (
                        where not has_column_privilege('errand_monitor', attrelid, attnum, 'SELECT')), '')
                from pg_attribute
                join pg_class on pg_class.oid = attrelid and relkind = 'v' and attnum > 0
                where relnamespace = any (errand_internal.namespaces())
                group by attrelid
                having not bool_and(has_column_privilege('errand_monitor', attrelid, attnum, 'SELECT'))
                order by 1
                """
            let expected = AppCase.statements(.hidden).sorted()
            #expect(!expected.isEmpty)
            #expect(try await database.text(hidden).split(separator: "\n").map(String.init).sorted() == expected)
            for line in expected {
                let (view, columns) = (line.prefix { $0 != ":" }, line.drop { $0 != " " }.split(separator: " "))
                for column in columns {
                    let query = "select \(column) from \(view)"
                    #expect(try await database.refusal(of: query, as: "errand_monitor") == "42501", "\(query)")
                }
            }
            let queries = """
                select format('select %s from %s', string_agg(quote_ident(attname), ', '), attrelid::regclass)
                from pg_attribute
                join pg_class on pg_class.oid = attrelid and relkind = 'v' and attnum > 0
                where relnamespace = any (errand_internal.namespaces()) and relnamespace <> 'errand'::regnamespace
                    and has_column_privilege('errand_monitor', attrelid, attnum, 'SELECT')
                group by attrelid
                """
            for query in try await database.text(queries).split(separator: "\n") {
                #expect(try await database.refusal(of: String(query), as: "errand_monitor") == nil, "\(query)")
            }
        }
    }

    @Test("it sees what a filter chose beside the error, and nothing of a filter that was cut")
    func filters() async throws {
        try await withTestDatabase { database, _ in
            try await Self.fill(database)
            for call in [
                #"retry_where('{"kind": "noop", "error": "mailbox anna"}', dry_run => false)"#,
                "start_bulk('cancel', jsonb_build_object('queue', 'mail', 'error', repeat('anna', 3000)), 'old')",
            ] {
                try await database.execute(Statement("select errand.\(call)"))
            }
            let target = "select action, target - 'per_minute' from errand.audit order by id"
            #expect(
                try await database.text(target, as: "errand_monitor") == """
                    start_bulk|{"bulk": 1, "action": "discard", "filter": {"queue": "mail"}}
                    retry_where|{"filter": {"kind": "noop"}}
                    start_bulk|{}
                    """)
            let filters = "select filter from errand.bulk_status order by id"
            #expect(
                try await database.text(filters, as: "errand_monitor") == #"{"queue": "mail"}"# + "\n"
                    + #"{"queue": "mail"}"#)
            #expect(try await database.text(target, as: "errand_ops").contains("mailbox anna"))
        }
    }

    /// Job 1 has failed, 2 is tried again later, 3 waits, 4 has succeeded; `anna` is what all of them are about.
    private static func fill(_ database: Database) async throws {
        let worker = try await database.enter()
        try await database.execute(#"select errand.enqueue('noop', '{"user": "anna"}', max_attempts => 1)"#)
        try await database.take(worker)
        try await database.execute(
            """
            select errand_internal.record_progress_v1(jsonb_agg(jsonb_build_object(
                'job_id', id, 'queue_position', queue_position, 'attempt', attempt, 'fraction', 0.5, 'message', 'writes to anna',
                'output', '{"user": "anna"}'::jsonb, 'log', array['anna is written to'])))
            from errand.job
            """)
        try await database.execute(
            #"insert into errand.step (job_id, name, output) values (1, 'mail to anna', '{"to": "anna"}')"#)
        try await database.fail(worker, with: "no mailbox anna")
        try await database.execute(#"select errand.enqueue('noop', '{"user": "anna"}')"#)
        try await database.execute(
            """
            update errand.job set state = 'scheduled', queue_position = null, run_at = now() + interval '1 hour', attempt = 1,
                attempts = '[{"attempt": 1, "outcome": "retried", "error": "no mailbox anna"}]'
            """)
        try await database.execute(#"select errand.enqueue('noop', '{"user": "anna"}')"#)
        try await database.execute(#"select errand.enqueue('noop', '{"user": "anna"}', queue => 'mail')"#)
        try await database.execute(
            """
            with gone as (
                delete from errand.job where id = 4 returning *
            )
            insert into errand.history (
                id, created_at, run_at, priority, attempt, max_attempts, crashes, state, queue, kind, payload, output)
            select id, created_at, run_at, priority, 1, 3, 0, 'succeeded', queue, kind, payload, payload from gone
            """)
        try await database.execute(
            """
            insert into errand.circuit (name, opened_at, opened_by, reason)
            values ('mailbox', now(), 'failures', 'no mailbox anna')
            """)
        try await database.execute("update errand.kind set circuits = '{mailbox}' where name = 'noop'")
        try await database.execute(
            #"select errand.start_bulk('discard', '{"queue": "mail", "error": "anna", "fingerprint": "anna"}', 'old')"#)
    }
}
