import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("SQL functions that handle jobs") struct FunctionHandlerTests {
    @Test("a running worker takes up a new one; its effect, its output and the completion are one commit")
    func takesUp() async throws {
        try await withFunctionApp { app, database in
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "exists (select from errand.worker)")
                try await app.handle(
                    "greet",
                    """
                    insert into \(app.name).effect values (payload ->> 'name');
                    return errand.outcome_done(jsonb_build_object('greeted', payload -> 'name', 'state', state));
                    """)
                try await app.act("select errand.enqueue('greet', '{\"name\": \"Ada\"}')")
                try await database.waits(for: "not exists (select from errand.job)")
                #expect(
                    try await database.text("select state, attempt, output from errand.history")
                        == #"succeeded|1|{"state": null, "greeted": "Ada"}"#)
                #expect(try await database.text("select job from \(app.name).effect") == "Ada")
            }
        }
    }

    @Test("work in batches: each is a commit of its own, and all of them are one attempt")
    func batches() async throws {
        try await withFunctionApp { app, database in
            try await app.handle(
                "count", declare: "n int := coalesce((state ->> 'n')::int, 0) + 1;",
                """
                insert into \(app.name).effect values (n);
                if n < 5 then return errand.outcome_again(jsonb_build_object('n', n)); end if;
                return errand.outcome_done(to_jsonb(n));
                """)
            try await app.act("select errand.enqueue('count')")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "not exists (select from errand.job)")
            }
            #expect(try await database.text("select state, attempt, output from errand.history") == "succeeded|1|5")
            #expect(
                try await database.text(
                    "select string_agg(job, '' order by job), count(distinct transaction) from \(app.name).effect")
                    == "12345|5")
            #expect(try await database.count("from errand.progress where state is not null") == 0)
        }
    }

    @Test("an attempt that fails between two batches goes on from the last state")
    func resumes() async throws {
        try await withFunctionApp { app, database in
            try await app.act("create sequence \(app.name).tries")
            try await app.handle(
                "count", declare: "n int := coalesce((state ->> 'n')::int, 0) + 1;",
                """
                insert into \(app.name).effect values (n);
                if n = 3 and nextval('\(app.name).tries') = 1 then raise 'broken'; end if;
                if n < 5 then return errand.outcome_again(jsonb_build_object('n', n)); end if;
                """)
            try await app.act("select errand.enqueue('count')")
            try await withFunctionWorker(of: database) {
                try await database.drainsPromoting()
            }
            #expect(
                try await database.text("select state, attempt, attempts -> 0 ->> 'error' from errand.history")
                    == "succeeded|2|broken (P0001)")
            #expect(
                try await database.text("select string_agg(job, '' order by job) from \(app.name).effect") == "12345")
        }
    }

    @Test("each outcome ends its job, and an error is written without the function's effect")
    func outcomes() async throws {
        try await withFunctionApp { app, database in
            try await app.handle(
                "end",
                """
                insert into \(app.name).effect values (payload ->> 'as');
                case payload ->> 'as'
                    when 'snoozed' then return errand.outcome_snooze('1 hour');
                    when 'cancelled' then return errand.outcome_cancel('not wanted');
                    when 'failed' then return errand.outcome_fail('never');
                    when 'null' then return null;
                    when 'unknown' then return row('lost', null, null, null, null)::errand.outcome;
                    when 'large' then return errand.outcome_done(to_jsonb(repeat('x', 300000)));
                    when 'value' then perform 1 / (payload ->> 'zero')::int;
                    when 'deadlock' then raise 'busy' using errcode = '40P01';
                    when 'assert' then assert false, 'not so';
                    when 'raise' then raise 'broken';
                end case;
                """)
            for outcome in [
                "snoozed", "cancelled", "failed", "null", "unknown", "large", "value", "deadlock", "assert", "raise",
            ] {
                try await app.act(
                    """
                    select errand.enqueue(
                        'end', '{"as": "\(outcome)", "zero": 0}', tags => array['\(outcome)'],
                        max_attempts => case when '\(outcome)' = 'unknown' then 1 end)
                    """)
            }
            try await withFunctionWorker(of: database) {
                try await database.waits(
                    for: "not exists (select from errand.job where state in ('available', 'running'))")
            }
            let ended = try await database.text(
                """
                select string_agg(format('%s: %s %s', tags[1], state, coalesce(why, '')), '; ' order by tags[1] collate "C")
                from (
                    select tags, state, reason as why from errand.history
                    union all select tags, 'failed', error from errand.failed
                    union all select tags, state || ' ' || attempt, attempts -> 0 ->> 'error' from errand.job) as jobs
                """)
            #expect(
                ended
                    == [
                        "assert: failed not so (P0004)", "cancelled: cancelled not wanted", "deadlock: scheduled 0 ",
                        "failed: failed never",
                        "large: failed output: expected at most 262144 bytes as text, got 300002 (ER413)",
                        "null: succeeded ", "raise: scheduled 1 broken (P0001)", "snoozed: scheduled 0 ",
                        "unknown: failed outcome: expected succeeded, snoozed, waiting, cancelled, failed or again, got 'lost' (ER422)",
                        "value: failed division by zero (22012)",
                    ].joined(separator: "; "))
            #expect(
                try await database.text("select string_agg(job, ' ' order by job) from \(app.name).effect")
                    == "cancelled failed null snoozed")
        }
    }

    @Test("a call that takes too long is cancelled, and counts as an attempt; one that catches that is ended")
    func deadline() async throws {
        try await withFunctionApp { app, database in
            try await app.handle("slow", timeout: "200 ms", "perform pg_sleep(60);")
            try await app.handle(
                "stubborn", timeout: "200 ms",
                """
                loop
                    begin
                        perform pg_sleep(60);
                    exception
                        when query_canceled then null;
                    end;
                end loop;
                """)
            try await app.act(
                "select errand.enqueue(kind, max_attempts => 1) from unnest('{slow,stubborn}'::text[]) as kind")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "(select count(*) from errand.failed) = 2")
                #expect(
                    try await database.text("select distinct error from errand.failed")
                        == "deadline of 0.2 seconds exceeded by one call of its function")
                try await database.waits(
                    for:
                        "not exists (select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep')"
                )
            }
        }
    }

    @Test("a cancelled job's function is stopped, and nothing of it is written")
    func cancelled() async throws {
        try await withFunctionApp { app, database in
            try await app.handle("slow", "insert into \(app.name).effect values (1); perform pg_sleep(60);")
            try await app.act("select errand.enqueue('slow')")
            try await withFunctionWorker(of: database) {
                try await database.waits(
                    for:
                        "exists (select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep')"
                )
                try await database.execute("select errand.cancel(array(select id from errand.job), 'not wanted')")
                try await database.waits(
                    for:
                        "not exists (select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep')",
                    within: .seconds(20))
                #expect(try await database.text("select state from errand.history") == "cancelled")
                #expect(try await database.count("from \(app.name).effect") == 0)
            }
        }
    }

    @Test("a job whose guard says no at its completion becomes obsolete, without the function's effect")
    func obsolete() async throws {
        try await withFunctionApp { app, database in
            try await database.execute("create table public.wanted (is_wanted boolean)")
            try await database.execute("insert into public.wanted values (true)")
            try await database.execute(
                """
                create or replace function public.is_open(payload jsonb) returns boolean stable security definer
                language sql return (select is_wanted from public.wanted)
                """)
            try await database.execute("select errand.put_guard('open', 'public.is_open')")
            try await database.execute(Statement("grant all on public.wanted to \(app.name)"))
            try await app.handle(
                "write", "insert into \(app.name).effect values (1); update public.wanted set is_wanted = false;")
            try await app.act("select errand.enqueue('write', guard => 'open')")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "not exists (select from errand.job)")
            }
            #expect(
                try await database.text("select state, reason from errand.history")
                    == "obsolete|guard open said no at completion")
            #expect(try await database.count("from \(app.name).effect") == 0)
        }
    }

    @Test("without the handler its jobs wait; with connections 0 they are left to other workers")
    func leaves() async throws {
        try await withFunctionApp { app, database in
            try await app.handle("write", "insert into \(app.name).effect values (1);")
            try await app.act("select errand.enqueue('write')")
            try await withFunctionWorker(of: database, connections: 0) {
                try await database.waits(for: "exists (select from errand.worker where not 'write' = any (kinds))")
                try await Task.sleep(for: .milliseconds(500))
                #expect(try await database.count("from errand.job where state = 'available'") == 1)
            }
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "not exists (select from errand.job)")
                try await app.act("select errand.drop_handler('write')")
                try await database.waits(for: "exists (select from errand.worker where not 'write' = any (kinds))")
                try await app.act("select errand.enqueue('write')")
                try await Task.sleep(for: .milliseconds(500))
                #expect(try await database.count("from errand.job where state = 'available'") == 1)
                try await app.act("select errand.put_handler('write', '\(app.name).write')")
                try await database.waits(for: "not exists (select from errand.job)")
            }
        }
    }
}

extension Database {
    /// Expects that the condition becomes true.
    func waits(for sql: String, within limit: Duration = .seconds(60)) async throws {
        let isTrue = try await becomes(sql, within: limit)
        #expect(isTrue, "\(sql)")
    }

    /// Promotes scheduled jobs at once until none is left.
    fileprivate func drainsPromoting() async throws {
        let isDrained = try await becomes("not exists (select from errand.job)") {
            try await execute(
                "select errand.reschedule(array(select id from errand.job where state = 'scheduled'), run_at => now())")
        }
        #expect(isDrained)
    }
}
