import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Problems are reported once, in few words") struct ProblemTests {
    @Test("a scheduler that never ran is a problem in health, metrics and each schedule; one that runs ends it")
    func scheduler() async throws {
        try await withTestDatabase { database, _ in
            let health = "select ok, detail, hint from errand.health() where check_name = 'scheduler'"
            let isUp = "select value from errand.metrics() where name = 'errand_scheduler_up'"
            let late = "select what, name, detail from errand.overdue"
            #expect(
                try await database.text(health)
                    == "false|none has ever run: no schedule ticks|start `errand scheduler`, or call errand.tick_schedules()"
            )
            #expect(try await database.text(isUp) == "0")
            try await database.execute("select errand.put_schedule('nightly', '0 3 * * *', 'noop')")
            #expect(try await database.text(late) == "", "it was put this moment")
            #expect(
                try await database.text("select next_tick > now() from errand.schedules") == "true",
                "it is planned without a scheduler")
            try await database.execute(
                "update errand.schedule set next_tick = now() - interval '2 min', due_at = now() - interval '2 min'")
            #expect(try await database.text(late) == "schedule|nightly|late: does a scheduler run?")

            var loop = SchedulerLoop(
                database: database, definitions: [], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            _ = try await loop.tick()
            #expect(try await database.text(late) == "")
            #expect(try await database.text("select ok from (\(health)) as checked") == "true")
            #expect(try await database.text(isUp) == "1")
            #expect(
                try await database.text("select task, is_late from errand.maintenance_status where task = 'schedule'")
                    == "schedule|false")

            // It is not maintenance, and its stop is reported.
            try await database.execute("update errand.maintenance_task set done_at = now() - interval '31 s'")
            try await database.execute("select errand_internal.set_due('promote', '-31 s')")
            #expect(
                try await database.text(
                    "select check_name from errand.health() where check_name in ('scheduler', 'maintenance') and not ok"
                )
                    == "scheduler\nmaintenance")
            #expect(try await database.text(isUp) == "0")
        }
    }

    @Test("statistics that are older than 10 minutes are a problem, though other tasks are done")
    func oldStatistics() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand_internal.update_statistics(), errand.maintain()")
            let health = "select ok, hint from errand.health() where check_name = 'maintenance'"
            #expect(try await database.text(health) == "true|")
            try await database.execute(
                "update errand.maintenance_task set done_at = now() - interval '11 min' where name = 'statistics'")
            #expect(
                try await database.text(health)
                    == "false|select * from errand.maintenance_status where task = 'statistics'")
        }
    }

    @Test("1,500 made-up queues and kinds make metrics and health no longer than 200 do, and are counted as others")
    func bounded() async throws {
        try await withTestDatabase { database, _ in
            // Those that the apps handle in SQL.
            try await database.execute("delete from errand.kind")
            let worker = try await database.enter(kinds: "noop", queue: "zulu")
            try await database.execute("select errand.enqueue('noop', queue => 'zulu')")
            try await database.execute(
                """
                select errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object('kind', 'kind_' || n, 'queue', 'queue_' || n))
                    from generate_series(1, 1500) as n))
                """)
            try await database.execute("update errand.job set run_at = now() - interval '1 hour'")
            try await database.execute("select errand_internal.update_statistics()")
            let samples = "from errand.metrics()"
            #expect(try await database.count(samples) < 2500)
            #expect(
                try await database.text(
                    "select labels ->> 'what', value \(samples) where name = 'errand_folded_names' order by 1")
                    == "kind|1301\nqueue|1301")
            #expect(
                try await database.text("select sum(value) \(samples) where name = 'errand_jobs'") == "1501",
                "none is left out")
            // A worker's queues are all shown, even the smallest and the last by name.
            #expect(
                try await database.text(
                    "select value \(samples) where name = 'errand_queue_workers' and labels ->> 'queue' = 'zulu'")
                    == "1")
            #expect(
                try await database.text("select value \(samples) where labels = '{\"kind\": \"noop\"}'") == "1")
            let detail = "select max(length(detail)) from errand.health()"
            #expect(try await database.query(Statement(detail)).scalar(Int.self) < 500)
            #expect(
                try await database.text(
                    "select detail like 'queue %, queue % and 1491 more' from errand.health() where check_name = 'overdue'"
                )
                    == "true")
            #expect(
                try await database.text(
                    "select detail like 'no live worker has kind_1, % and 1490 more' from errand.health() where check_name = 'kinds'"
                ) == "true")
            try await database.take(worker, queue: "zulu")
        }
    }

    @Test("1,500 invented queues and kinds, with jobs and with completions, leave metrics, views and health small")
    func invented() async throws {
        try await withTestDatabase { database, _ in
            for setup: Statement in [
                """
                select errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object('kind', 'kind_' || n, 'queue', 'queue_' || n))
                    from generate_series(1, 1500) as n))
                """,
                """
                insert into errand.finished_total (
                    queue, kind, outcome, jobs, wait_ms, run_ms, last_minute, wait_histogram, run_histogram)
                select name || n, 'kind_' || n, 'succeeded', 1, 5, 5, now() - n * interval '1 minute', '{0,1}', '{0,1}'
                from generate_series(1, 1500) as n, unnest('{queue_,past_}'::text[]) as name
                """,
                "analyze errand.job", "analyze errand.finished_total",
                "select errand_internal.update_statistics()",
            ] {
                try await database.execute(setup)
            }
            let sizes = try await database.query(
                """
                select count(*), count(distinct labels ->> 'queue'), count(distinct labels ->> 'kind'),
                    sum(length(name) + length(labels::text) + 10)
                from errand.metrics()
                """)
            let (samples, queues, kinds, bytes) = try sizes[0].decode(Int.self, Int.self, Int.self, Int.self)
            #expect(queues == 201 && kinds == 201, "200 names and other")
            #expect(samples < 9_000 && bytes < 1_000_000, "\(samples) samples, \(bytes) B")
            #expect(
                try await database.text(
                    "select sum(value) from errand.metrics() where name = 'errand_attempts_total'") == "3000")
            #expect(try await database.count("from errand.health() where length(detail) > 500") == 0)
        }
    }

    @Test("no sample appears twice, even with a queue and a kind named other")
    func other() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                select errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object('kind', kind, 'queue', kind))
                    from (select 'other' as kind union all select 'made_up_' || n from generate_series(1, 300) as n) as kinds))
                """)
            try await database.execute("select errand_internal.update_statistics()")
            let twice = "from (select name, labels from errand.metrics() group by 1, 2 having count(*) > 1) as twice"
            #expect(try await database.count(twice) == 0)
        }
    }

    @Test(
        "jobs of a kind without a worker make its queue no later: the kind lacks a worker, and what is behind them is seen"
    )
    func orphans() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter()
            try await database.execute(
                """
                select errand.enqueue_many((
                    select jsonb_agg('{"kind": "orphan"}'::jsonb) from generate_series(1, 300)))
                """)
            try await database.execute("update errand.job set run_at = now() - interval '1 hour'")
            try await database.execute("select errand_internal.update_statistics()")
            let overdue = "select what, name, detail from errand.overdue"
            #expect(
                try await database.text(overdue) == "kind|orphan|300 jobs wait, and no live worker has the kind")
            let ok = "select check_name from errand.health() where check_name in ('overdue', 'kinds') and not ok"
            #expect(try await database.text(ok) == "kinds")
            #expect(try await database.text("select waiting, oldest_due_at from errand.queues") == "300|")

            try await database.execute("select errand.enqueue('noop')")
            try await database.execute("update errand.job set run_at = now() - interval '10 min' where kind = 'noop'")
            #expect(
                try await database.text("select what, name, detail from errand.overdue where what = 'queue'")
                    == "queue|default|its oldest job has been due for 600 s")
        }
    }

    @Test("what an operator has paused is named as paused, and is neither a failed check nor an open circuit")
    func onPurpose() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter()
            try await database.execute("select errand.enqueue('noop')")
            try await database.execute("update errand.job set run_at = now() - interval '10 min'")
            try await database.execute(
                "select errand.pause_queue('default', 'a test'), errand.pause_kind('noop', 'a typo')")
            try await database.execute("select errand.circuit_open('storage', 'it moves')")
            let overdue = "select what, name, detail like 'paused by %: a test; its oldest job%' from errand.overdue"
            #expect(try await database.text(overdue) == "paused queue|default|true")
            let health =
                "select check_name, ok, detail from errand.health() where check_name in ('overdue', 'circuits')"
            #expect(
                try await database.text("\(health) order by 1") == """
                    circuits|true|the kind noop is paused: a typo, storage is held by an operator: it moves
                    overdue|true|paused queue default
                    """)
            let samples = """
                select name, labels ->> 'kind', labels ->> 'circuit', value from errand.metrics()
                where name in ('errand_overdue', 'errand_circuit_closed', 'errand_circuit_held', 'errand_kind_paused')
                order by name
                """
            #expect(
                try await database.text(samples) == """
                    errand_circuit_closed||storage|0
                    errand_circuit_held||storage|1
                    errand_kind_paused|noop||1
                    errand_overdue|||0
                    """)
        }
    }

    @Test("a kind whose workers claim only from other queues lacks a worker, and the report names them")
    func elsewhere() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter(kinds: "noop", queue: "mail")
            _ = try await database.enter(kinds: "other", queue: "default")
            try await database.execute("select errand.enqueue('noop', queue => 'default')")
            try await database.execute("select errand_internal.update_statistics()")
            #expect(
                try await database.text("select what, name, detail, hint from errand.overdue")
                    == "kind|noop|1 job waits in default, and no live worker of it has the kind|"
                    + "host:1 has it, but claims from other queues: add default=10 to its queues (ERRAND_QUEUES)")
        }
    }

    @Test("a queue that no worker claims from says in which setting it is named, or which worker is drained")
    func unserved() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop', queue => 'mail')")
            try await database.execute("update errand.job set run_at = now() - interval '10 min'")
            let hint = "select hint from errand.overdue where what = 'queue'"
            #expect(
                try await database.text(hint)
                    == "no live worker claims from it: add mail=10 to the queues of one (ERRAND_QUEUES)")
            let worker = try await database.enter(kinds: "noop", queue: "mail")
            try await database.execute(Statement("select errand.drain_worker($1, 'its host restarts')", [worker]))
            #expect(
                try await database.text(hint)
                    == "its worker host:1 is drained: select errand.undrain_worker(\(worker), '…')")
        }
    }
}
