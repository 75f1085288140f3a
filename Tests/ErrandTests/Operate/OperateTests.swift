import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("What ops do to jobs and queues") struct OperateTests {
    @Test("cancel_where shows the jobs to cancel, cancels them on request, and records that in the audit")
    func cancelWhere() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            for _ in 1...3 { try await queue.enqueue(Noop()) }
            try await database.execute("select errand.enqueue('other')")
            let shown = "select * from errand.cancel_where('{\"kind\": \"noop\"}', 'wrong text')"
            #expect(
                try await database.text(shown)
                    == "1|available|cancelled|0\n2|available|cancelled|0\n3|available|cancelled|0")
            #expect(try await database.count("from errand.job") == 4)
            let done =
                "select count(*) from errand.cancel_where('{\"kind\": \"noop\"}', 'wrong text', dry_run => false)"
            #expect(try await database.text(done) == "3")
            #expect(try await database.text("select id, kind from errand.job") == "4|other")
            #expect(
                try await database.text("select distinct state, reason from errand.history") == "cancelled|wrong text")
            let audit = "select action, reason, jobs, job_ids, who = session_user from errand.audit"
            #expect(try await database.text(audit) == "cancel_where|wrong text|3|[1,2,3]|true")
        }
    }

    @Test("retry_where spreads failed jobs over time, skips jobs with a taken key, and keeps their record")
    func retryWhere() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            for key in ["a", "b", "c"] { try await Queue(database: database).enqueue(Noop(), .unique(key)) }
            try await database.take(worker)
            try await database.fail(worker, with: "bucket 17 is gone")
            try await Queue(database: database).enqueue(Noop(), .unique("b"))
            let filter = #"'{"kind": "noop", "error": "bucket"}', per_minute => 60"#
            let times = "select job_id, extract(epoch from run_at - now())::int from errand.retry_where(\(filter)"
            #expect(try await database.text("\(times))") == "1|0\n3|1")
            #expect(try await database.count("from errand.failed") == 3)
            #expect(try await database.text("\(times), dry_run => false, reason => 'it is back')") == "1|0\n3|1")
            #expect(try await database.text("select id from errand.failed") == "2")
            #expect(
                try await database.text(
                    "select id, state, attempt, jsonb_array_length(attempts) from errand.job where id in (1, 3) order by id"
                )
                    == "1|available|0|1\n3|scheduled|0|1")
            #expect(try await database.refusal(of: "select errand.retry('{2}')") == "ER409")
        }
    }

    @Test("the undo of a cancel gives a job its own time back, in bulk too; a time that is given counts")
    func undoneCancel() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            try await queue.enqueue(Noop(), .after(.seconds(7 * 86_400)))
            try await queue.enqueue(Noop())
            let week = "select id, state, run_at = created_at + interval '7 days' from errand.job order by id"
            let cancel = "select errand.cancel('{1,2}', 'the wrong ones')"
            try await database.execute(Statement(cancel))
            let retried = try await database.text("select * from errand.retry('{1,2}')")
            #expect(retried == "1|cancelled|scheduled\n2|cancelled|available")
            #expect(try await database.text(week) == "1|scheduled|true\n2|available|false")

            try await database.execute(Statement(cancel))
            let filter = #"'{"state": "cancelled", "error": "wrong"}', per_minute => 60, dry_run => false"#
            let times = "select job_id, round(extract(epoch from run_at - now()) / 86400) from errand.retry_where"
            #expect(try await database.text("\(times)(\(filter)) order by 1") == "1|7\n2|0")
            #expect(try await database.count("from errand.job where id = 1 and state = 'scheduled'") == 1)

            try await database.execute(Statement(cancel))
            let now = try await database.text("select * from errand.retry('{1}', run_at => now())")
            #expect(now == "1|cancelled|available")
        }
    }

    @Test("a job with another priority joins the end of that priority; one with another time waits for it")
    func reschedule() async throws {
        try await withTestDatabase { database, _ in
            for _ in 1...3 { try await Queue(database: database).enqueue(Noop()) }
            try await database.execute("select errand.reschedule('{1}', priority => 1)")
            #expect(
                try await database.count("from errand.job where id = 1 and priority = 1 and queue_position > 3") == 1)
            let later = "select * from errand.reschedule('{2, 99}', run_at => now() + interval '1 hour')"
            #expect(try await database.text(later) == "2|available|scheduled\n99||")
            #expect(try await database.text("select id from errand.job where queue_position is null") == "2")
            try await database.execute("select errand.reschedule('{2}', run_at => now())")
            #expect(
                try await database.count("from errand.job where id = 2 and state = 'available' and queue_position > 4")
                    == 1)
        }
    }

    @Test("a job moves to another queue by its id; a name that nobody knows is refused unless the call insists")
    func movesQueue() async throws {
        try await withTestDatabase { database, _ in
            for _ in 1...2 { try await Queue(database: database).enqueue(Noop()) }
            let move = "select * from errand.reschedule('{1}', queue => 'bulk'"
            #expect(try await database.refusal(of: "\(move))") == "ER404")
            #expect(try await database.text("\(move), force => true)") == "1|available|available")
            #expect(
                try await database.count("from errand.job where id = 1 and queue = 'bulk' and queue_position > 2") == 1)
            let recorded = "select target ->> 'queue' from errand.audit where action = 'reschedule'"
            #expect(try await database.text(recorded) == "bulk")
        }
    }

    @Test("the calls for one job do what those for many do, and refuse an id that no job has")
    func single() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            for _ in 1...2 { try await Queue(database: database).enqueue(Noop()) }
            for (call, result) in [
                ("cancel_job(1, 'wrong')", "1|available|cancelled"), ("retry_job(1, 'right')", "1|cancelled|available"),
                ("reschedule_job(1, 'x', priority => 1)", "1|available|available"),
                ("reschedule_job(1, run_at => now() + interval '1 hour')", "1|available|scheduled"),
                ("cancel_job(1, 'wrong')", "1|scheduled|cancelled"),
                ("cancel_job(1, 'again')", "1|cancelled|cancelled"),
            ] {
                #expect(try await database.text("select * from errand.\(call)", as: "errand_ops") == result, "\(call)")
            }
            try await database.take(worker)
            try await database.fail(worker, with: "broken")
            let discarded = try await database.text("select * from errand.discard_job(2, 'x')", as: "errand_ops")
            #expect(discarded == "2|failed|cancelled")
            for call in ["cancel_job(99, 'x')", "retry_job(99)", "discard_job(99, 'x')", "reschedule_job(null, 'x')"] {
                #expect(try await database.refusal(of: "select errand.\(call)") == "ER404", "\(call)")
            }
            #expect(try await database.refusal(of: "select errand.cancel_job(1, '')") == "ER422")
        }
    }

    @Test("a discarded job leaves the failures and stays in the history with the reason")
    func discard() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await Queue(database: database).enqueue(Noop())
            try await database.take(worker)
            try await database.fail(worker, with: "no")
            let reply = try await database.text("select * from errand.discard('{1, 2}', 'the customer has left')")
            #expect(reply == "1|failed|cancelled\n2||")
            let kept = "select state, reason, jsonb_array_length(attempts) from errand.jobs"
            #expect(try await database.text(kept) == "cancelled|discarded: the customer has left|1")
        }
    }

    @Test("a pause ends at its time, by maintenance, and is on record")
    func pauseUntil() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.pause_queue('default', 'storage moves', now() + interval '1 hour')")
            try await database.promote()
            #expect(try await database.text("select paused_reason from errand.queues") == "storage moves")
            try await database.execute("update errand.queue set paused_until = now()")
            try await database.promote()
            #expect(try await database.count("from errand.queue where paused_at is null and paused_until is null") == 1)
            #expect(try await database.text("select action, reason from errand.audit") == "pause_queue|storage moves")
        }
    }

    @Test("a live worker is released by force only; its jobs go back to their positions with their attempt uncounted")
    func releaseWorker() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await Queue(database: database).enqueue(Noop())
            try await database.take(worker)
            #expect(try await database.refusal(of: "select errand.release_worker(\(worker), 'it hangs')") == "ER409")
            #expect(try await database.refusal(of: "select errand.release_worker(0, 'it hangs')") == "ER404")
            let released = "select * from errand.release_worker(\(worker), 'it hangs', force => true)"
            #expect(try await database.text(released) == "1|default|noop")
            #expect(
                try await database.count(
                    "from errand.job where state = 'available' and attempt = 0 and queue_position = 1") == 1)
            #expect(try await database.count("from errand.worker") == 0)
        }
    }

    @Test("the pause of an unknown queue is rejected with similar names, and succeeds with force")
    func unknownQueue() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter(kinds: "image_compression", queue: "images")
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.pause_queue('imgaes', 'storage moves')")
            }
            #expect(error?.sqlState == "ER404")
            #expect(error?.hint?.hasPrefix("Is it images") == true)
            #expect(try await database.count("from errand.queue") == 0)
            try await database.execute("select errand.pause_queue('images', 'storage moves')")
            try await database.execute("select errand.pause_queue('imgaes', 'to come', force => true)")
            #expect(try await database.text("select name from errand.queue order by name") == "images\nimgaes")
        }
    }

    @Test("a call that undoes or starts something refuses an unknown name, with the nearest one")
    func unknownName() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter(kinds: "image_compression", queue: "images")
            try await database.execute("select errand.set_limit('tenant/4', 1), errand.set_rate('mail', '1 s', 1)")
            try await database.execute("select errand.put_schedule('nightly', '@daily', 'noop')")
            try await database.execute("select errand.pause_kind('to_come', 'x', force => true)")
            for (call, given, nearest) in [
                ("resume_queue('%')", "imgaes", "images"),
                ("resume_kind('%')", "image_compresion", "image_compression"),
                ("resume_kind('%')", "to_cone", "to_come"), ("set_limit('%', null)", "tenant/5", "tenant/4"),
                ("set_rate('%', null, null)", "mial", "mail"), ("run_schedule('%', 'x')", "nigthly", "nightly"),
                ("pause_schedule('%', 'x')", "nigthly", "nightly"), ("resume_schedule('%')", "nigthly", "nightly"),
                ("drop_schedule('%')", "nigthly", "nightly"),
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select errand.\(call.replacing("%", with: given))"))
                }
                #expect(error?.sqlState == "ER404", "\(call)")
                #expect(error?.detail.hasSuffix(", got '\(given)'") == true, "\(call): \(error?.detail ?? "")")
                #expect(error?.hint?.hasPrefix("Is it \(nearest)") == true, "\(call): \(error?.hint ?? "")")
                try await database.execute(Statement("select errand.\(call.replacing("%", with: nearest))"))
            }
        }
    }

    @Test("what makes no sense is refused with a state of its own")
    func refused() async throws {
        try await withTestDatabase { database, _ in
            for (call, state) in [
                ("select errand.cancel('{1}', '  ')", "ER422"), ("select errand.cancel('{1}', null)", "ER422"),
                ("select errand.discard('{1}', '')", "ER422"), ("select errand.pause_queue('default', '')", "ER422"),
                ("select errand.pause_queue('Not a queue', 'x')", "ER422"),
                ("select errand.pause_queue('imgaes', 'x')", "ER404"),
                ("select errand.retry('{1}', run_at => 'infinity')", "ER422"),
                ("select errand.pause_queue('default', 'x', now() - interval '1 s')", "ER422"),
                ("select errand.cancel_where('{}', 'x')", "ER422"), ("select errand.cancel_where('[]', 'x')", "ER422"),
                ("select errand.cancel_where(null, 'x')", "ER422"),
                ("select errand.cancel_where('{\"kinds\": \"noop\"}', 'x')", "ER422"),
                ("select errand.cancel_where('{\"kind\": 1}', 'x')", "ER422"),
                ("select errand.cancel_where('{\"state\": \"failed\"}', 'x')", "ER422"),
                ("select errand.cancel_where('{\"created_after\": \"noon\"}', 'x')", "ER422"),
                ("select errand.cancel_where('{\"kind\": \"noop\"}', 'x', max_jobs => 0)", "ER422"),
                ("select errand.retry_where('{\"kind\": \"noop\"}', per_minute => 0)", "ER422"),
                ("select errand.reschedule('{1}')", "ER422"),
                ("select errand.reschedule('{1}', priority => 5)", "ER422"),
                ("select errand.reschedule('{1}', run_at => 'infinity')", "ER422"),
                ("select errand.reschedule('{1}', run_at => '290000-01-01Z')", "ER422"),
                ("select errand.retry('{1}', run_at => '290000-01-01Z')", "ER422"),
                ("select errand.reschedule_where('{\"kind\": \"noop\"}', 'x', run_at => '290000-01-01Z')", "ER422"),
                ("select errand.pause_queue('default', 'x', '290000-01-01Z', true)", "ER422"),
                ("select errand.pause_kind('noop', 'x', 'infinity', true)", "ER422"),
                ("select errand.circuit_open('storage', 'x', 'infinity')", "ER422"),
                ("select errand.enqueue_payloads_v1('noop', '{}', run_at => '290000-01-01Z')", "ER422"),
                ("select errand.put_schedule('a', '@daily', 'noop', max_lateness => '178000000 years')", "ER422"),
            ] {
                let refused = try await database.refusal(of: call)
                #expect(refused == state, "\(call)")
            }
        }
    }
}
