import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Crashes of schedulers", .serialized) struct SchedulerCrashTests {
    @Test("five schedulers, two killed and one stopped and continued in between: 10,000 ticks give exactly 10,000 jobs")
    func killedAndStopped() async throws {
        let schedules = Hardness.isFull ? 100 : 40
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            try await database.execute(
                Statement(
                    """
                    select errand.put_schedule(
                        'hourly_' || number, 'every 1 h', 'noop', missed => 'all', max_catch_up => 1000)
                    from generate_series(1, $1) as number
                    """, [schedules]))
            let schedulers = try (0..<5).map { _ in try Program(["scheduler"], database: url) }
            for scheduler in schedulers {
                while !scheduler.output.contains("scheduling") { try await Task.sleep(for: .milliseconds(10)) }
            }
            // Four days are due at the same time.
            try await database.setLastTick("date_trunc('hour', now()) - interval '100 hours'", of: "hourly%")
            func recorded(_ count: Int) async throws {
                let isThere = "count(*) >= \(count) from errand.tick where schedule ~ '^hourly'"
                #expect(try await database.becomes(isThere, within: .seconds(60)))
            }
            try await recorded(5 * schedules)
            schedulers[0].send(SIGKILL)
            try await recorded(20 * schedules)
            schedulers[1].send(SIGSTOP)
            try await recorded(30 * schedules)
            schedulers[2].send(SIGKILL)
            #expect(try await database.count("from errand.tick where schedule ~ '^hourly'") < 100 * schedules)
            try await recorded(100 * schedules)
            schedulers[1].send(SIGCONT)
            // The scheduler continues in the middle of a step. Other schedulers have recorded ticks since.
            try await Task.sleep(for: .seconds(Hardness.isFull ? 2 : 1))
            // One more each if an hour has begun since.
            let hours = try await database.query(
                """
                select (extract(epoch from date_trunc('hour', now()) - min(tick)) / 3600)::int8 + 1
                from errand.tick
                where schedule ~ '^hourly'
                """
            ).scalar(Int.self)
            #expect(hours == 100 || hours == 101)
            #expect(try await database.count("from errand.tick where schedule ~ '^hourly'") == schedules * hours)
            #expect(try await database.count("from errand.job where kind = 'noop'") == schedules * hours)
            #expect(
                try await database.count(
                    """
                    from (
                        select from errand.tick
                        join errand.job on id = job_id and run_at = tick
                        where outcome in ('enqueued', 'late') and schedule ~ '^hourly'
                        group by schedule
                        having count(distinct job_id) = \(hours)
                    ) as whole
                    """) == schedules)
            #expect(try await schedulers[0].exit() == -SIGKILL)
            #expect(try await schedulers[2].exit() == -SIGKILL)
            for scheduler in [schedulers[1], schedulers[3], schedulers[4]] {
                scheduler.send(SIGTERM)
                #expect(try await scheduler.exit() == 0)
            }
        }
    }
}
