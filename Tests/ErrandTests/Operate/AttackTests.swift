import AppTestKit
import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Attacks through SQL") struct AttackTests {
    @Test("no argument is ever executed: many strings in each argument of the calls of people")
    func injection() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("create table public.canary (n int)")
            try await database.execute("insert into public.canary values (1)")
            try await database.execute("grant all on public.canary to public")
            try await database.execute(
                """
                create function public.attack(calls text[], strings text[], strings_each int) returns table (call text, state text, message text)
                language plpgsql as $$
                declare
                    string text;
                    index int;
                    step int;
                begin
                    for index in 1..cardinality(calls) loop
                        call := calls[index];
                        for step in 1..least(strings_each, cardinality(strings)) loop
                            string := strings[1 + (index * strings_each + step) % cardinality(strings)];
                            begin
                                execute call using string;
                            exception
                                when others then
                                    -- Ours all begin with ER; 22: a text that is no time, and the like.
                                    if sqlstate !~ '^(ER|22)' then
                                        state := sqlstate;
                                        message := sqlerrm || ' for ' || string;
                                        return next;
                                    end if;
                            end;
                        end loop;
                    end loop;
                end
                $$
                """)
            try await database.execute("select errand.enqueue('noop', unique_key => 'one')")
            let calls = try await calls(in: database)
            let before = try await database.text("select count(*), sum(relnatts) from pg_class where relkind <> 't'")
            let replies = try await database.transaction { transaction in
                try await transaction.execute("set local role errand_ops")
                return try await transaction.query(
                    Statement(
                        "select call || ': ' || state || ' ' || message from public.attack($1, $2, $3::int)",
                        [
                            calls, Self.strings, Hardness.isFull ? Self.strings.count : 5,
                        ])
                ).map { try $0.decode(String.self) }
            }
            #expect(replies == [])
            #expect(try await database.text("select n from public.canary") == "1")
            #expect(
                try await database.text("select count(*), sum(relnatts) from pg_class where relkind <> 't'") == before)
            #expect(try await database.count("from pg_roles where rolname ~ 'mallory'") == 0)
            // A name must not become a command: people paste the calls of hints.
            let hints = try await database.query(
                "select hint from errand.job, errand.explain(id) where hint like 'select%' limit 500")
            for row in hints {
                let state = try await database.refusal(of: try row.decode(String.self), as: "errand_ops")
                #expect(state == nil || state?.hasPrefix("ER") == true)
            }
            #expect(try await database.text("select n from public.canary") == "1")
        }
    }

    /// Each argument of a text, a list or a document of each function of the catalog, and calls that reach further.
    private func calls(in database: Database) async throws -> [String] {
        let each = try await PublicFunction.all(of: "errand_ops", in: database).flatMap { function in
            function.arguments.compactMap { argument -> String? in
                switch argument.type {
                case "text": function.call(with: [argument.name: "$1"])
                case "text[]": function.call(with: [argument.name: "array[$1]"])
                case "jsonb": function.call(with: [argument.name: "jsonb_build_object($1, $1)"])
                default: nil
                }
            }
        }
        #expect(each.count > 100)
        return each + Self.calls + AppCase.statements(.attack)
    }

    private static let calls = [
        "select errand.enqueue('noop', unique_key => 'one', on_conflict => $1)",
        "select errand.enqueue_many(jsonb_build_array(jsonb_build_object('kind', $1)))",
        "select errand.enqueue_many(jsonb_build_array(jsonb_build_object($1, $1)))",
        "select errand.enqueue_many(to_jsonb($1))", "select errand.cancel('{0}', $1)",
        "select errand.cancel_where(jsonb_build_object('kind', $1), 'x')",
        "select errand.cancel_where(jsonb_build_object('created_after', $1), 'x')",
        "select errand.retry_where(jsonb_build_object('error', $1))",
        "select errand.retry_where(jsonb_build_object('state', $1))", "select errand.retry('{0}', reason => $1)",
        "select errand.reschedule_where(jsonb_build_object('kind', $1), $1, $1, force => true, dry_run => false)",
        "select errand.edit_job(1, to_jsonb($1), 'x')", "select errand.pause_queue($1, 'x', force => true)",
        "select errand.pause_kind($1, 'x', force => true)", "select errand.circuit_open($1, 'x')",
        "select errand.put_schedule($1, '* * * * *', 'noop')", "select errand.put_schedule('attacked', $1, 'noop')",
        "select errand.put_schedule('attacked', '* * * * *', $1)",
        "select errand.put_schedule('attacked', '* * * * *', 'noop', time_zone => $1)",
        "select errand.put_schedule('attacked', '* * * * *', 'noop', missed => $1)",
        "select errand.put_schedule('attacked', '* * * * *', 'noop', queue => $1)",
    ]

    /// An escape from a literal, a name, a comment or a dollar quote, and a command after it: each of both once, five
    /// for each call, and all 200 combinations in the full mode.
    private static let strings: [String] = {
        let ways = [
            "'", "\"", "';", "')", "'); ", "\\'", "$$", "$$;", "}'", "'::text", "';--", "0;", "*/", "%", "{",
            "\u{1b}[2J", "’", "\\", "a'||'", "E'\\''",
        ]
        let deeds = [
            "drop table public.canary", "delete from public.canary", "update public.canary set n = 2",
            "create role mallory superuser",
            "alter role current_user superuser", "select pg_sleep(30)", "create table public.mallory ()",
            "copy public.canary to program 'touch /tmp/mallory'", "or 1=1", "union select rolname from pg_roles",
        ]
        if Hardness.isFull { return ways.flatMap { way in deeds.map { "x\(way) \($0);--" } } }
        return ways.enumerated().map { "x\($1) \(deeds[$0 % deeds.count]);--" }
    }()

    @Test("objects that shadow names are never called with the owner's rights")
    func hijack() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("create table public.caught (who text, what text)")
            try await database.execute("grant all on public.caught to public")
            // Each shadows a function, operator, type or table that the functions use.
            for (name, arguments, type, body) in [
                ("now", "", "timestamptz", "pg_catalog.now()"), ("nextval", "r regclass", "bigint", "1::bigint"),
                ("pg_notify", "a text, b text", "void", "null::void"), ("length", "a text", "int", "1"),
                ("jsonb_typeof", "a jsonb", "text", "'array'::text"), ("left", "a text, b int", "text", "a"),
                ("btrim", "a text", "text", "a"), ("wake", "", "void", "null::void"),
                ("cardinality", "a bigint[]", "int", "1"), ("pg_current_xact_id", "", "xid8", "null::xid8"),
            ] {
                try await database.execute(
                    Statement(
                        """
                        create function public.\(name)(\(arguments)) returns \(type) language sql as $$
                            insert into public.caught values (current_user, '\(name)');
                            select \(body)
                        $$
                        """))
            }
            try await database.execute(
                """
                create function public.equal(a text, b text) returns boolean language sql as $$
                    insert into public.caught values (current_user, '=');
                    select true
                $$
                """)
            try await database.execute(
                "create operator public.= (leftarg = text, rightarg = text, function = public.equal)")
            try await database.transaction { transaction in
                try await transaction.execute("set local role errand_ops")
                try await transaction.execute("set local search_path = public, pg_temp, pg_catalog")
                for table in ["job", "queue", "kind", "worker", "action", "failed", "job_count"] {
                    try await transaction.execute(
                        Statement("create temp table \(table) (name text, id bigint, state text)"))
                }
                try await transaction.execute("create domain pg_temp.job_choice as text")
                for call in [
                    "select errand.enqueue('noop')", "select errand.enqueue_many('[{\"kind\": \"noop\"}]')",
                    "select errand.enqueue('noop', unique_key => 'one', on_conflict => 'replace', limit_key => 'a', tags => '{b}')",
                    "select errand.pause_queue('default', 'x')", "select errand.resume_queue('default')",
                    "select errand.explain(1)",
                    "select errand.cancel('{1}', 'x')", "select errand.retry('{1}')",
                    "select errand.reschedule('{1}', priority => 1)",
                    "select errand.cancel_where('{\"kind\": \"noop\"}', 'x', dry_run => false)",
                    "select errand.retry_where('{\"state\": \"cancelled\"}', dry_run => false)",
                    "select errand.discard('{1}', 'x')", "select errand.edit_job(2, '1', 'x')",
                    "select errand.reschedule_where('{\"kind\": \"noop\"}', 'x', 'default', 1, dry_run => false)",
                    "select errand.set_limit('a', 1)", "select errand.set_rate('default', '1 s', 1)",
                    "select errand.circuit_open('a', 'x')", "select errand.circuit_close('a')",
                    "select errand.put_schedule('a', '* * * * *', 'noop')", "select errand.pause_schedule('a', 'x')",
                    "select errand.resume_schedule('a')", "select errand.drop_schedule('a')", "select errand.health()",
                    "select errand.metrics()", "select errand.schema_version()",
                    "select * from errand.queues", "select * from errand.overdue", "select * from errand.stuck",
                    "select * from errand.jobs",
                ] + AppCase.statements(.hijack) {
                    try await transaction.execute(Statement(call))
                }
            }
            #expect(try await database.text("select distinct who, what from public.caught") == "")
            // The traps work: the attacker's own calls run into them.
            try await database.transaction { transaction in
                try await transaction.execute("set local search_path = public, pg_catalog")
                try await transaction.execute("select now(), 'a'::text = 'b'::text")
            }
            #expect(try await database.text("select what from public.caught order by what") == "=\nnow")
        }
    }

    @Test(
        "every function pins its search_path, with temporary objects last, and none that people call runs as they are")
    func pinned() async throws {
        try await withAppDatabase { database, _ in
            let loose = """
                select oid::regprocedure
                from pg_proc
                where pronamespace = any (errand_internal.namespaces()) and prokind = 'f'
                    and not coalesce(
                        proconfig::text ~ format(
                            'search_path=pg_catalog, %s, pg_temp', replace(pronamespace::regnamespace::text, '_internal', '')),
                        false)
                """
            let found = try await database.text(loose)
            #expect(found == "")
            let invoker = """
                select distinct oid::regprocedure
                from pg_proc
                cross join unnest('{worker,enqueuer,ops,monitor}'::text[]) as role
                where pronamespace = any (errand_internal.namespaces()) and not prosecdef
                    and has_function_privilege('errand_' || role, oid, 'EXECUTE')
                """
            #expect(try await database.text(invoker) == "")
        }
    }

    @Test("200 garbage rows written past all constraints break no view and no normal job")
    func garbage() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute(
                """
                do $$ declare name text; begin
                    for name in select conname from pg_constraint where conrelid = 'errand.job'::regclass and contype = 'c'
                    loop execute 'alter table errand.job drop constraint ' || name; end loop;
                end $$
                """)
            try await database.execute(
                """
                insert into errand.job (
                    id, queue_position, worker_id, created_at, run_at, started_at, priority, attempt, max_attempts, crashes, state, queue,
                    kind, unique_key, payload, attempts, not_after, limit_key, guard, tags, parked_for)
                select
                    (array[n, -n, 9223372036854775807 - n])[1 + n % 3],
                    case when n % 4 = 0 then null else (array[-n, n, 9223372036854775000 - n])[1 + n % 3] end,
                    (array[null, -1, 9223372036854775807])[1 + n % 3],
                    (array['infinity', '-infinity', now()]::timestamptz[])[1 + n % 3],
                    (array['infinity', '-infinity', now(), '1970-01-01']::timestamptz[])[1 + n % 4],
                    (array[null, 'infinity', '-infinity']::timestamptz[])[1 + n % 3],
                    (array[-32768, 0, 2, 32767])[1 + n % 4], (array[-1, 0, 32767])[1 + n % 3], (array[-5, 0, 32767])[1 + n % 3],
                    (array[-1, 0, 32767])[1 + n % 3],
                    (array['', 'running', 'available', 'scheduled', 'parked', E'\\x1b[2J', 'ended'])[1 + n % 7],
                    (array['default', '', E'\\x1b[31mred', repeat('q', 2000)])[1 + n % 4],
                    (array['noop', '', E'a\\nb', repeat('k', 65536)])[1 + n % 4],
                    'key ' || n, (array['null', '[]', '"text"', '{"sleep_ms": -1}']::jsonb[])[1 + n % 4],
                    (array[null, '{}', '[]', '"x"']::jsonb[])[1 + n % 4],
                    (array[null, 'infinity', '-infinity']::timestamptz[])[1 + n % 3],
                    (array[null, '', '%'])[1 + n % 3], (array[null, 'none'])[1 + n % 2], (array[null, '{}', '{""}']::text[][])[1 + n % 3][1:1],
                    (array[null, 'limit:', 'circuit:', 'x'])[1 + n % 4]
                from generate_series(1, 200) as n
                on conflict do nothing
                """)
            for view in [
                "errand.jobs", "errand.queues", "errand.kinds", "errand.workers", "errand.stuck", "errand.overdue",
                "errand.circuits", "errand.limits", "errand.failures", "errand.health()", "errand.metrics()",
                "errand_internal.update_statistics()", "errand.queues", "errand.metrics()",
                "errand.cancel_where('{\"kind\": \"nothing\"}', 'x')", "errand_internal.rescue(0)",
                "errand_internal.promote(1000, '-infinity')", "errand_internal.release_parked()",
            ] {
                #expect(try await database.refusal(of: "select * from \(view)") == nil, "\(view)")
            }
            // They repeat after 84 rows, and each takes some milliseconds.
            let explained = """
                select explain.*
                from errand.job
                cross join errand.explain(id)
                where unique_key like 'key %' and substr(unique_key, 5)::int <= 84
                """
            #expect(try await database.refusal(of: explained) == nil)
            try await database.execute("select errand.enqueue('normal', queue => 'normal')")
            try await database.execute(
                """
                insert into errand.job (queue, kind, queue_position, attempt, max_attempts)
                values ('normal', 'normal', nextval('errand.job_position'), 32767, 32767)
                """)
            let worker = try await database.enter(kinds: "normal", queue: "normal")
            try await database.take(worker, queue: "normal", kinds: "normal")
            #expect(try await database.count("from errand.job where queue = 'normal' and state = 'running'") == 2)
        }
    }
}
