import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

@Suite("Statistics") struct StatisticsTests {
    @Test("a queue's depth is exact while it is short, and from the last count if it is long")
    func depth() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let depth = "select waiting, running, scheduled, failed, is_estimate, is_floor from errand.queues"
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 249))
            try await queue.enqueue(Noop(), .after(.seconds(3600)))
            #expect(try await database.text(depth) == "249|0|1|0|false|false")
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 1000))
            #expect(try await database.text(depth) == "250|0|1|0|true|true", "there are at least so many")
            #expect(try await database.query("select errand_internal.update_statistics()").scalar(Bool.self))
            #expect(try await database.text(depth) == "1249|0|1|0|true|false")
            // One refresh is enough for all processes.
            #expect(try await !database.query("select errand.refresh_statistics()").scalar(Bool.self))
        }
    }

    @Test("of a table over the bound a sample is scaled up")
    func sample() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.enqueue_many((select jsonb_agg('{\"kind\": \"noop\"}'::jsonb) from generate_series(1, 20000)))"
            )
            try await database.execute("select errand_internal.update_statistics(max_pages => 200)")
            let jobs = try await database.query("select jobs from errand.job_count").scalar(Int64.self)
            #expect((14_000...26_000).contains(jobs))
            #expect(
                try await database.text(
                    "select note like 'estimated from %' from errand.maintenance_status where task = 'statistics'")
                    == "true"
            )
        }
    }

    @Test("metrics have the size and the rows of each table, partitions included, for a monitor")
    func tables() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("select errand_internal.make_partitions()")
            let differing = """
                from (
                    select 'errand.' || relname as table_name, sum(pg_total_relation_size(relid)) as bytes
                    from (
                        select coalesce(inhparent::regclass, part.relid::regclass) as whole, part.relid
                        from pg_stat_user_tables as part left join pg_inherits on inhrelid = part.relid
                        where part.schemaname = 'errand'
                    ) as part
                    join pg_class on pg_class.oid = part.whole
                    where part.relid in (select oid from pg_class where relkind = 'r')
                    group by relname
                ) as expected
                full join (
                    select labels ->> 'table' as table_name, value from errand.metrics()
                    where name = 'errand_table_bytes'
                ) as sample using (table_name)
                where bytes is distinct from value
                """
            #expect(try await database.count(differing) == 0)
            // Those of the apps begin at 1 MB.
            try await database.execute("create schema film authorization errand_owner")
            try await database.execute("insert into errand.app (name) values ('film')")
            try await database.execute(
                """
                create table film.reel as
                select repeat('k', 1000) || n as key from generate_series(1, 2000) as n
                """)
            try await database.execute("alter table film.reel owner to errand_owner")
            try await database.execute("vacuum film.reel")
            let apps = "from errand.metrics() where labels ->> 'table' !~ '^errand[.]' and name = 'errand_table_bytes'"
            #expect(
                try await database.text("select labels ->> 'table', value > 2e6 \(apps)") == "film.reel|true")
            let history = "from errand.metrics() where labels ->> 'table' = 'errand.history'"
            #expect(try await database.count(history) == 3)
        }
    }

    @Test("1,000 queues with jobs, workers and completions cost health 20,000 buffers at most, and metrics 1 MB")
    func thousandQueues() async throws {
        try await withTestDatabase { database, _ in
            // A plan from before would read all jobs for each queue.
            try await database.execute("analyze errand.job")
            try await database.execute(
                """
                with added as (
                    insert into errand.job (queue, kind, state, queue_position)
                    select 'q' || n % 1000, 'k' || n % 60, 'available', nextval('errand.job_position')
                    from generate_series(1, 20000) as n),
                entered as (
                    insert into errand.worker (name, version, lease, queues, kinds)
                    select 'w', '1', '1 hour', array(select 'q' || q from generate_series(0, 999) as q),
                        array(select 'k' || k from generate_series(0, 59) as k))
                insert into errand.finished_total (
                    last_minute, queue, kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram)
                select now(), 'q' || q, 'k' || k, outcome, 10, 100, 100, '{1,2,3,4,5,6}', '{1,2,3,4,5,6}'
                from generate_series(0, 999) as q, generate_series(0, 59, 6) as k,
                    unnest('{succeeded,failed,retried}'::text[]) as outcome
                """)
            try await database.execute("select errand_internal.update_statistics()")
            /// The buffers that a statement reads, when its functions are planned.
            func buffers(_ sql: String) async throws -> Int {
                try await database.withConnection { connection in
                    try await connection.execute(Statement(sql))
                    let plan = try await connection.query(
                        Statement("explain (analyze, buffers, timing off, summary off) \(sql)")
                    ).column(0, as: String.self)
                    let line = plan.first { $0.contains("Buffers: ") } ?? ""
                    return line.split(separator: " ").compactMap { word -> Int? in
                        word.hasPrefix("hit=") || word.hasPrefix("read=") ? Int(word.split(separator: "=")[1]) : nil
                    }
                    .reduce(0, +)
                }
            }
            let read = try await (buffers("select * from errand.health()"), buffers("table errand.queues"))
            #expect((1...20_000).contains(read.0) && (1...20_000).contains(read.1), "\(read)")
            let size = try await database.query(
                "select count(*), sum(length(name || labels::text) + 10) from errand.metrics()")
            let (samples, bytes) = try size[0].decode(Int.self, Int.self)
            #expect(samples < 9_000 && bytes < 1_000_000, "\(samples) samples, \(bytes) B")
            #expect(
                try await database.text("select sum(value) from errand.metrics() where name = 'errand_jobs'") == "20000"
            )
            let depth = "from errand.queues where waiting = 20 and workers = 1 and oldest_due_at is not null"
            #expect(try await database.count(depth) == 1000)
        }
    }

    @Test("names beyond 10,000 pairs are summed up, and hide no queue that a worker serves, nor a registered kind")
    func madeUp() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter(kinds: "noop", queue: "zulu")
            try await database.execute(
                """
                insert into errand.job (queue, kind, state, queue_position)
                select 'a' || n, 'm' || n, 'available', nextval('errand.job_position')
                from generate_series(1, 10500) as n
                """)
            try await database.execute("select errand.enqueue('noop', queue => 'zulu')")
            try await database.execute("select errand_internal.update_statistics()")
            #expect(
                try await database.text("select count(*), sum(jobs) from errand.job_count") == "10001|10501")
            #expect(try await database.text("select kind, jobs from errand.job_count where queue = '*'") == "*|501")
            #expect(try await database.text("select jobs from errand.job_count where queue = 'zulu'") == "1")
            let zulu = "select waiting, is_estimate, workers from errand.queues where queue = 'zulu'"
            #expect(try await database.text(zulu) == "1|false|1")
            try await database.execute("select errand.enqueue('noop', queue => 'zulu')")
            #expect(try await database.text(zulu) == "2|false|1", "counted now")
        }
    }

    @Test("a kind whose jobs no statistics have counted has a row with their number")
    func uncounted() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('fresh')")
            #expect(
                try await database.text("select kind, waiting, workers from errand.kinds where kind = 'fresh'")
                    == "fresh|1|0")
        }
    }

    private static func processorSeconds(of process: Int32) throws -> Double {
        let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        // Fields 14 and 15, counted from behind the name in parentheses, which may have spaces.
        let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ").dropFirst(12)
        return fields.prefix(2).compactMap { Double($0) }.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    @Test("metrics and counts of 5,000 queues, each with jobs and an hour of attempts, take a bounded time")
    func fiveThousand() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                with name as (select 'q' || n as queue, 'k' || n % 50 as kind from generate_series(1, 5000) as n),
                job as (
                    insert into errand.job (queue, kind, state, queue_position, run_at)
                    select queue, kind, 'available', nextval('errand.job_position'), now() - interval '10 min' from name)
                insert into errand.finished_per_minute (
                    minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram)
                select
                    date_trunc('minute', now()) - minute * interval '1 minute', 1, queue, kind, 'succeeded', 10, 100, 100,
                    '{1,2,3,4,5,6}', '{1,2,3,4,5,6}'
                from name, generate_series(0, 2) as minute
                """)
            /// The time that the server computes for a statement, which no other load of the machine lengthens.
            func computed(_ sql: Statement) async throws -> Double {
                try await database.withConnection { connection in
                    let server = try await connection.query("select pg_backend_pid()").scalar(Int32.self)
                    let before = try Self.processorSeconds(of: server)
                    try await connection.execute(sql)
                    return try Self.processorSeconds(of: server) - before
                }
            }
            // 1 s and 0.1 s; joined by nested loops they took 9 s and 10 s.
            let counted = try await computed("select errand_internal.update_statistics()")
            #expect(counted < 5)
            let asked = try await computed("select count(*) from errand.metrics()")
            #expect(asked < 5)
            let value = "select value from errand.metrics() where name = 'errand_overdue'"
            #expect(try await database.text(value) == "5050")
            let rows = "from errand.throughput where subject = 'queue' and span = '1 hour'"
            #expect(try await database.count(rows) == 5000)
        }
    }

    @Test("throughput of 5,000 queues with histograms of 48 buckets is computed in memory")
    func inMemory() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.finished_per_minute (
                    minute, worker_id, queue, kind, outcome, jobs, wait_ms, run_ms, wait_histogram, run_histogram)
                select
                    date_trunc('minute', now()) - minute * interval '1 minute', 1, 'q' || n, 'k' || n % 50, 'succeeded', 48,
                    100, 100, array_fill(1, '{48}'), array_fill(1, '{48}')
                from generate_series(1, 5000) as n, unnest('{1,10}'::int[]) as minute
                """)
            let plan = try await database.query(
                "explain (analyze, buffers, costs off, timing off) select * from errand_internal.compute_throughput()"
            ).column(0, as: String.self)
            #expect(plan[0].contains("rows=10100"))
            // Window functions over all buckets sorted a million rows on disk: 4,600 pages.
            #expect(!plan.contains { $0.contains("temp ") }, "\(plan)")
        }
    }

    @Test("workers' counts are merged when their minute is over, and their sum never changes by it")
    func merge() async throws {
        try await withTestDatabase { database, _ in
            for _ in 1...3 {
                let worker = try await database.enter()
                try await database.execute(
                    Statement(
                        """
                        select errand_internal.count_finished_v1('{\(worker)}', '[{"queue": "default", "kind": "noop",
                            "outcome": "succeeded", "jobs": 10, "wait_ms": 40, "run_ms": 200, "wait_histogram": [0, 10],
                            "run_histogram": [5, 0, 5]}]', 0, '{}')
                        """))
            }
            let total = "select value from errand.metrics() where name = 'errand_attempts_total'"
            let histograms = """
                select name, labels ->> 'le', value from errand.metrics()
                where type = 'histogram' and coalesce(labels ->> 'le', '') in ('', '0.001', '0.002', '4194.304', '+Inf')
                order by name, (labels ->> 'le')::float8
                """
            let expected = """
                errand_run_seconds_bucket|0.001|15
                errand_run_seconds_bucket|0.002|30
                errand_run_seconds_bucket|4194.304|30
                errand_run_seconds_bucket|+Inf|30
                errand_run_seconds_count||30
                errand_run_seconds_sum||0.6
                errand_wait_seconds_bucket|0.001|0
                errand_wait_seconds_bucket|0.002|30
                errand_wait_seconds_bucket|4194.304|30
                errand_wait_seconds_bucket|+Inf|30
                errand_wait_seconds_count||30
                errand_wait_seconds_sum||0.12
                """
            #expect(try await database.text(total) == "30")
            #expect(try await database.text(histograms) == expected)
            try await database.execute("update errand.finished_per_minute set minute = minute - interval '10 minutes'")
            try await database.execute("select errand_internal.update_statistics()")
            let kept = "select worker_id, jobs, wait_histogram, run_histogram from errand.finished_per_minute"
            #expect(try await database.text(kept) == "0|30|[0,30]|[15,0,15]")
            #expect(try await database.text(total) == "30")
            #expect(try await database.text(histograms) == expected)
            // A bucket may exceed an int within a year.
            try await database.execute("update errand.finished_total set wait_histogram = '{0,3000000000}'")
            try await database.execute("select errand_internal.update_statistics()")
            #expect(try await database.text(total) == "30")
            #expect(
                try await database.text("select value from errand.metrics() where name = 'errand_wait_seconds_count'")
                    == "3000000000")
            let hour = "select succeeded_1_h, wait_p50_ms_1_h, run_p95_ms_1_h from errand.queues"
            #expect(try await database.text(hour) == "30|1.21|1.94")
            #expect(
                try await database.text("select succeeded_percent_1_h from errand.kinds where succeeded_1_h > 0")
                    == "100.0")
        }
    }

    @Test("errors that differ in numbers, ids and quotes only are one row, with the last job of them")
    func errors() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            for error in [
                "photo 'a.jpg' (6c1d3c1e-1111-4222-8333-123456789abc): 404 after 3.5 s",
                "photo 'b.jpg' (7c1d3c1e-1111-4222-8333-123456789abd): 404 after 17 s", "decoder: out of memory",
            ] {
                try await Queue(database: database).enqueue(Noop())
                try await database.take(worker)
                try await database.fail(worker, with: error)
            }
            #expect(
                try await database.text("select fingerprint, failures, last_job_id from errand.failures")
                    == "decoder: out of memory|1|3\nphoto … (#): # after # s|2|2")
        }
    }

    @Test("overdue and stuck jobs are named, and health reports them")
    func trouble() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await Queue(database: database).enqueue(Noop())
            try await database.take(worker)
            #expect(try await database.text("select job_id from errand.stuck") == "")
            // A kind that runs once a week: no attempt within the hour.
            func completions(_ histogram: String) async throws {
                try await database.execute(
                    Statement(
                        """
                        insert into errand.finished_total (queue, kind, outcome, jobs, last_minute, run_histogram)
                        values ('default', 'noop', 'succeeded', 4, now() - interval '7 days', \(histogram))
                        on conflict on constraint finished_total_pkey do update
                        set run_histogram = excluded.run_histogram
                        """))
            }
            try await database.execute("update errand.job set started_at = now() - interval '50 minutes'")
            try await database.execute("update errand.claim set claimed_at = now() - interval '1 hour'")
            #expect(try await database.text("select job_id from errand.stuck") == "", "nothing to compare it with")
            try await completions("array_fill(0, '{43}') || 4")
            #expect(try await database.text("select job_id from errand.stuck") == "", "others took 50 minutes too")
            try await completions("'{0,4}'")
            #expect(
                try await database.text("select job_id, problem from errand.stuck")
                    == "1|it takes far longer than usual: 99 % of its kind complete within 00:00:00.001414")
            try await database.execute("delete from errand.finished_total")
            try await database.execute("update errand.job set started_at = now() - interval '61 minutes'")
            #expect(
                try await database.text("select job_id, problem from errand.stuck")
                    == "1|it takes over an hour, and no job of its kind has completed so far")
            try await database.execute("select errand.enqueue('unknown', run_at => now() - interval '1 hour')")
            try await database.execute("select errand_internal.update_statistics()")
            #expect(
                try await database.text("select what, name from errand.overdue order by what")
                    == "kind|unknown")
            #expect(
                try await database.text("select detail from errand.overdue where what = 'kind'")
                    == "1 job waits, and no live worker has the kind")
            try await database.execute("select errand_internal.set_due('promote', '1 s')")
            #expect(
                try await database.text("select check_name from errand.health() where not ok order by 1")
                    == "kinds\nscheduler\nstuck jobs")
        }
    }
}
