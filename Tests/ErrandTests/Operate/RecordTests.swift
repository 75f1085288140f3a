import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("What ops find on record") struct RecordTests {
    @Test("progress and log lines of an attempt are read by ops, while it runs and afterwards")
    func progress() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await database.execute("select errand.enqueue('noop')")
            try await database.take(worker)
            try await database.execute(
                """
                select errand_internal.record_progress_v1(jsonb_agg(jsonb_build_object(
                    'job_id', id, 'queue_position', queue_position, 'attempt', attempt, 'fraction', 0.25, 'message', 'page 1 of 4',
                    'output', '{"pages": 1}'::jsonb, 'log', array['info begun', 'info page 1'])))
                from errand.job
                """)
            let progress = """
                select job_id, attempt, is_running, fraction, message, output, log[2] from errand.job_progress
                """
            #expect(
                try await database.text(progress, as: "errand_ops")
                    == #"1|1|true|0.25|page 1 of 4|{"pages": 1}|info page 1"#)
            let job = "select state, progress, progress_message, output, log[1] from errand.jobs"
            #expect(
                try await database.text(job, as: "errand_ops")
                    == #"running|0.25|page 1 of 4|{"pages": 1}|info begun"#)
            try await database.fail(worker, with: "no page 2")
            #expect(
                try await database.text(job, as: "errand_ops")
                    == #"failed|0.25|page 1 of 4|{"pages": 1}|info begun"#)
            #expect(try await database.text("select is_running from errand.job_progress", as: "errand_ops") == "false")
        }
    }

    @Test("a parked job says what it waits for: in the view, and in the list of jobs")
    func waitingFor() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                insert into errand.job (kind, state, parked_for)
                select 'noop', 'parked', unnest('{limit:tenant/42,circuit:mail,circuit:kind:noop,crash}'::text[])
                """)
            try await database.execute("select errand.enqueue('noop')")
            let said = """
                limit tenant/42 is full
                circuit mail is open
                kind noop is paused
                it was in two crashes of its worker, and will run alone

                """
            for role in ["errand_ops", "errand_monitor"] {
                #expect(try await database.text("select waiting_for from errand.jobs order by id", as: role) == said)
                let listed = """
                    select job ->> 'waiting_for'
                    from jsonb_array_elements(errand.list_jobs() -> 'jobs') as job
                    order by job -> 'id'
                    """
                #expect(try await database.text(listed, as: role) == said)
            }
        }
    }

    @Test("running jobs are listed with their worker, and a monitor sees no message of theirs")
    func running() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await database.execute("select errand.enqueue('noop')")
            try await database.take(worker)
            try await database.execute("select errand.enqueue('noop')")
            try await database.execute(
                """
                select errand_internal.record_progress_v1(jsonb_agg(jsonb_build_object(
                    'job_id', id, 'queue_position', queue_position, 'attempt', attempt, 'fraction', 0.5, 'message', 'page 1')))
                from errand.job
                where id = 1
                """)
            let running =
                "select job_id, kind, attempt, worker, is_lost, progress, progress_message from errand.running_jobs"
            #expect(try await database.text(running, as: "errand_ops") == "1|noop|1|host:1|false|0.5|page 1")
            #expect(try await database.text(running, as: "errand_monitor") == "1|noop|1|host:1|false|0.5|")
            try await database.fail(worker, with: "x")
            #expect(try await database.text(running, as: "errand_ops") == "")
        }
    }

    @Test("a failure stays among the recent errors when its job is retried, and leaves them with its time")
    func retried() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            for _ in 1...2 { try await Queue(database: database).enqueue(Noop()) }
            try await database.take(worker)
            try await database.fail(worker, with: "bucket 17 is gone")
            let errors = "select fingerprint, failures, retried, last_error from errand.failures"
            #expect(try await database.text(errors) == "bucket # is gone|2|0|bucket 17 is gone")
            try await database.execute("select errand.retry('{1}')")
            #expect(try await database.text(errors) == "bucket # is gone|2|1|bucket 17 is gone")
            try await database.execute(
                "select errand.retry_where('{\"kind\": \"noop\"}', dry_run => false)")
            #expect(try await database.text(errors) == "bucket # is gone|2|2|bucket 17 is gone")
            try await database.take(worker)
            try await database.fail(worker, with: "bucket 17 is gone")
            #expect(try await database.text(errors) == "bucket # is gone|4|2|bucket 17 is gone", "they failed again")
            try await database.execute("update errand.past_failure set finished_at = finished_at - interval '8 days'")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.text(errors) == "bucket # is gone|2|0|bucket 17 is gone")
        }
    }

    @Test("a dry run has the number of further matching jobs; a real run has none")
    func beyond() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 10))
            let cancel = "from errand.cancel_where('{\"kind\": \"noop\"}', 'wrong', max_jobs => 4"
            #expect(try await database.text("select count(*), min(beyond), max(beyond) \(cancel))") == "4|6|6")
            #expect(
                try await database.text("select count(*), max(beyond) \(cancel), dry_run => false)") == "4|")
            try await database.take(worker)
            try await database.fail(worker, with: "no")
            let retry = "from errand.retry_where('{\"kind\": \"noop\"}', max_jobs => 4"
            #expect(try await database.text("select count(*), min(beyond), max(beyond) \(retry))") == "4|2|2")
            #expect(
                try await database.text("select count(*), max(beyond) \(retry), dry_run => false)") == "4|")
            #expect(try await database.text("select count(*), max(beyond) \(retry))") == "2|0")
        }
    }

    @Test("psql shows it too, if only the jobs are counted")
    func notice() async throws {
        try await withTestDatabase { database, configuration in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 3))
            let shown = try psql(
                "select count(*) from errand.cancel_where('{\"kind\": \"noop\"}', 'wrong', max_jobs => 1);",
                of: configuration, as: "errand_ops")
            #expect(shown.contains("cancel_where: 2 more jobs match beyond the first 1"))
        }
    }

    @Test("a filter with a mistyped kind or queue is reported with similar names, if it matches nothing")
    func mistyped() async throws {
        try await withTestDatabase { database, configuration in
            _ = try await database.enter(kinds: "image_compression", queue: "images")
            for call in [
                "cancel_where('{\"kind\": \"imgae_compression\", \"queue\": \"imgaes\"}', 'wrong')",
                "retry_where('{\"kind\": \"imgae_compression\", \"queue\": \"imgaes\"}')",
                "reschedule_where('{\"kind\": \"imgae_compression\", \"queue\": \"imgaes\"}', 'x', priority => 1)",
            ] {
                let shown = try psql("select count(*) from errand.\(call);", of: configuration, as: "errand_ops")
                #expect(shown.contains("has named the kind 'imgae_compression'\nHINT:  Is it image_compression"))
                #expect(shown.contains("has named the queue 'imgaes'\nHINT:  Is it images"))
            }
            let known = "select count(*) from errand.retry_where('{\"kind\": \"image_compression\"}');"
            #expect(try !psql(known, of: configuration, as: "errand_ops").contains("NOTICE"))
            try await database.execute("select errand.enqueue('imgae_compression', queue => 'images')")
            let hint = try await database.text("select hint from errand.explain(1) where code = 'unknown_kind'")
            #expect(hint.contains("is it image_compression"))
        }
    }
}
