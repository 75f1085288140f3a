import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Rates and what has changed") struct ThroughputTests {
    /// Attempts of the kind that many minutes ago, each of which ran between 16 and 22 ms.
    private func count(_ jobs: Int, _ outcome: String, _ kind: String, minutesAgo: Int, on database: Database)
        async throws
    {
        try await database.execute(
            Statement(
                """
                insert into errand.finished_per_minute (
                    minute, worker_id, jobs, wait_ms, run_ms, queue, kind, outcome, wait_histogram, run_histogram)
                values (
                    date_trunc('minute', now()) - interval '\(minutesAgo) minutes', 0, \(jobs), 0, 0, 'default',
                    '\(kind)', '\(outcome)', '{\(jobs)}', '{0,0,0,0,0,0,0,0,0,\(jobs)}')
                """))
    }

    @Test("what ran within a time is counted by kind and outcome, with the times of its histogram")
    func times() async throws {
        try await withTestDatabase { database, _ in
            try await count(10, "succeeded", "a", minutesAgo: 30, on: database)
            try await count(2, "failed", "a", minutesAgo: 31, on: database)
            try await count(5, "succeeded", "b", minutesAgo: 30, on: database)
            try await count(7, "succeeded", "a", minutesAgo: 90, on: database)
            let within = """
                select kind, succeeded, failed, run_p50_ms, run_p95_ms
                from errand.kind_times(now() - interval '40 minutes', now() - interval '20 minutes')
                """
            #expect(
                try await database.text(within, as: "errand_monitor")
                    == "a|10|2|19.31|22.3\nb|5|0|19.31|22.3")
            let later = "select count(*) from errand.kind_times(now() - interval '20 minutes')"
            #expect(try await database.text(later) == "0")
        }
    }

    @Test("a percentile is interpolated in its bucket, and an empty histogram has none")
    func percentiles() async throws {
        try await withTestDatabase { database, _ in
            let histograms = [
                ("'{4}'", "[0.5,0.95,1]"), ("'{0,10,0,10}'", "[1.41,2.75,2.83]"), ("array[null,1]", "[1.21,1.39,1.41]"),
                ("'{1000000000000,1}'", "[0.5,0.95,1.41]"), ("'{0,0}'", "[null,null,null]"),
                ("'{}'", "[null,null,null]"),
            ]
            for (histogram, expected) in histograms {
                let times = "select errand_internal.percentiles(\(histogram), '{0.5, 0.95, 1}')"
                let found = try await database.text(times)
                #expect(found == expected)
            }
        }
    }

    @Test("the slowest kind comes first, with what it took at the same time yesterday")
    func compare() async throws {
        try await withTestDatabase { database, _ in
            try await count(10, "succeeded", "a", minutesAgo: 30, on: database)
            try await count(4, "succeeded", "a", minutesAgo: 30 + 24 * 60, on: database)
            try await database.execute(
                "update errand.finished_per_minute set run_histogram = '{0,4}' where jobs = 4")
            let compared = """
                select kind, succeeded, succeeded_before, run_p95_ms, run_p95_ms_before, change_percent
                from errand.compare_kinds()
                """
            #expect(try await database.text(compared, as: "errand_monitor") == "a|10|4|22.3|1.39|1504.3")
        }
    }

    @Test("failures before and after a deploy are counted, also those of jobs that were retried or discarded since")
    func errors() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            for _ in 1...4 { try await Queue(database: database).enqueue(Noop()) }
            try await database.take(worker)
            try await database.fail(worker, with: "bucket 17 is gone")
            try await database.execute(
                "update errand.failed set finished_at = now() - interval '90 minutes' where id = 1")
            try await database.execute("select errand.retry('{2}')")
            try await database.execute("select errand.discard('{3}', 'x')")
            let compared = """
                select kind, fingerprint, before, after, last_error
                from errand.compare_errors(now() - interval '1 hour')
                """
            #expect(
                try await database.text(compared, as: "errand_ops")
                    == "noop|bucket # is gone|1|3|bucket 17 is gone")
            #expect(try await database.text(compared, as: "errand_monitor") == "noop||1|3|")
            let short = "select before, after from errand.compare_errors(now() - interval '1 hour', '10 minutes')"
            #expect(try await database.text(short) == "")
        }
    }

    @Test("jobs a second are those of the last minutes, in whichever table they are, and a queue says when it is done")
    func rates() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            for _ in 1...3 { try await Queue(database: database).enqueue(Noop()) }
            try await database.execute("select errand.enqueue('other', queue => 'mail') from generate_series(1, 60)")
            try await database.take(worker)
            try await database.fail(worker, with: "x")
            try await database.execute("select errand.cancel('{4}', 'x')")
            let rates = "select queue, kind, jobs, per_second, window_seconds from errand.enqueue_rates()"
            #expect(
                try await database.text(rates, as: "errand_monitor")
                    == "mail|other|60|0.200|300.0\ndefault|noop|3|0.010|300.0")
            try await database.execute("update errand.job set created_at = now() - interval '10 minutes'")
            #expect(try await database.text("select sum(jobs) from errand.enqueue_rates()") == "4")
            try await count(300, "succeeded", "other", minutesAgo: 1, on: database)
            try await database.execute("update errand.finished_per_minute set queue = 'mail'")
            try await database.execute("select errand_internal.update_statistics()")
            let queue = """
                select waiting, in_per_second, out_per_second, done_in from errand.queue_rates() where queue = 'mail'
                """
            #expect(try await database.text(queue, as: "errand_monitor") == "59|0.003|1.000|00:00:59")
        }
    }
}
