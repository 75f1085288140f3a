import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Actions of operators are undone") struct UndoTests {
    private static let last = "(select max(id) from errand.audit)"

    /// What operators set, without the times of the setting.
    private static let settings = """
        select
            array(select (limit_key, max_running) from errand.limit order by limit_key),
            array(select rate from errand.rate order by queue),
            array(select to_jsonb(key_rate) - 'set_at' from errand.key_rate order by rate_key),
            array(select queue from errand.queue order by name),
            array(
                select (name, opened_at, until, reason) from errand.circuit where opened_at is not null order by name),
            array(select (kind, state, keep, reason) from errand.retention order by kind),
            array(select (id, drained_at, drained_reason) from errand.worker order by id),
            array(
                select to_jsonb(schedule) - '{created_at,changed_at,last_tick,last_local,next_tick,due_at}'::text[]
                from errand.schedule order by name),
            array(select (schedule_plan.schedule, cardinality(ticks) > 0) from errand.schedule_plan order by 1)
        """

    @Test("each setting goes back to what it was, whichever one was there, unless it was changed since")
    func settings() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            func changes(_ n: Int) -> [String] {
                [
                    "set_limit('tenant/1', \(n))", "set_limit('tenant/1', null)", "set_limit('tenant/1', \(n + 1))",
                    "set_rate('mail', '\(n) minutes', 5)", "set_rate('mail', null, null)",
                    "set_rate('mail', '\(n) hours', 9)",
                    "set_key_rate('a', '\(n) minutes', 5, 2)", "set_key_rate('a', null, null)",
                    "set_key_rate('a', '1 hour', \(n))",
                    "pause_queue('default', 'n\(n)')", "pause_queue('default', 'm\(n)', now() + interval '1 hour')",
                    "resume_queue('default')", "pause_kind('noop', 'n\(n)')", "resume_kind('noop')",
                    "pause_kind('noop', 'm\(n)', now() + interval '1 hour')",
                    "circuit_open('storage', 'n\(n)')", "circuit_close('storage')", "circuit_open('storage', 'm\(n)')",
                    "set_retention('noop', 'failed', '\(n) days', 'x')", "set_retention('noop', 'failed', null, 'x')",
                    "set_retention('noop', 'failed', '\(n) hours', 'x')",
                    "drain_worker(\(worker), 'n\(n)')", "undrain_worker(\(worker))", "drain_worker(\(worker), 'm\(n)')",
                    "put_schedule('s', 'every \(n) h', 'noop', 'null', tags => '{a,b}', jitter => '1 minute')",
                    "put_schedule_exception('s', current_date + \(n), 'closed')", "pause_schedule('s', 'n\(n)')",
                    "drop_schedule_exception('s', current_date + \(n))", "resume_schedule('s')",
                    "put_schedule('s', '\(n) * * * *', 'noop', subject => 'anna')", "drop_schedule('s')",
                    "put_schedule('s', '\(n) 1 * * *', 'noop', '{\"n\": 1}')",
                ]
            }
            for n in [3, 5] {
                for change in changes(n) {
                    let before = try await database.text(Self.settings)
                    try await database.execute(Statement("select errand.\(change)"))
                    let after = try await database.text(Self.settings)
                    #expect(after != before, "\(change)")
                    let undo = "select undone, note from errand.undo(\(Self.last), dry_run => "
                    #expect(try await database.text("\(undo)true)", as: "errand_ops") == "true|", "\(change)")
                    #expect(try await database.text(Self.settings) == after, "\(change)")
                    #expect(try await database.text("\(undo)false)", as: "errand_ops") == "true|", "\(change)")
                    #expect(try await database.text(Self.settings) == before, "\(change)")
                    // An undo is undone, too.
                    #expect(try await database.text("\(undo)false)", as: "errand_ops") == "true|", "\(change)")
                    #expect(try await database.text(Self.settings) == after, "\(change)")
                }
            }
            try await database.execute("select errand.set_limit('tenant/1', 7)")
            let id = try await database.text("select \(Self.last)")
            try await database.execute("select errand.set_limit('tenant/1', 8)")
            #expect(
                try await database.text("select setting, undone, note from errand.undo(\(id))")
                    == "limit tenant/1|false|it has changed since")
            #expect(try await database.text("select max_running from errand.limit") == "8")
        }
    }

    @Test("jobs that waited for a cancelled one wait again, and those that have started are named")
    func children() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await database.enter()
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '1 hour')")
            for policy in ["wait", "go_on", "cancel", "go_on"] {
                try await database.execute(
                    Statement("select errand.enqueue('noop', after => '{1}', if_parent_fails => '\(policy)')"))
            }
            try await database.execute("select errand.enqueue('noop', after => '{4}')")
            let states = "select id, state, parked_for from errand.jobs order by id"
            let before = try await database.text(states)
            try await database.execute("select errand.cancel('{1}', 'wrong')")
            try await database.execute("update errand.job set priority = 1 where id = 5")
            let claim =
                "select errand_internal.claim_v1('default', '{noop}', \(worker), 1, '{0,0,0,0}', '{1,2,3,4}', true)"
            try await database.execute(Statement(claim))
            let rows = "select job_id, undone, was, now, note from errand.undo(\(Self.last)"
            let expected = """
                1|true|cancelled|scheduled|
                3|true|available|parked|it waited for job 1
                4|true|cancelled|parked|it waited for job 1
                5|false|running|running|it is running
                """
            #expect(try await database.text("\(rows), dry_run => true)") == expected)
            #expect(try await database.text("\(rows))") == expected)
            let after = before.replacing("5|parked|job:1", with: "5|running|")
            #expect(try await database.text(states) == after)
            #expect(
                try await database.text("select count(*) from errand.audit where action = 'undo' and jobs = 3") == "1")
        }
    }

    @Test("a batch counts jobs that come back as unfinished, and those whose retry is undone as without success")
    func batches() async throws {
        try await withTestDatabase { database, _ in
            let batch = try await database.openBatch()
            var jobs: [Int64] = []
            for _ in 1...3 { jobs.append(try await database.member(of: batch)) }
            let two = "'{\(jobs[0]),\(jobs[1])}'"
            try await database.closeBatch(batch)
            let undo = "select count(*) filter (where undone) || ' of ' || count(*) from errand.undo(\(Self.last))"
            for call in [
                "cancel('{\(jobs[0]),\(jobs[1]),\(jobs[2])}', 'wrong')", "batch_cancel(\(batch), 'wrong')",
            ] {
                try await database.execute(Statement("select errand.\(call)"))
                #expect(try await database.batch(batch) == "closed - 3 0 0 3 0", "\(call)")
                #expect(try await database.text(undo) == "3 of 3", "\(call)")
                try await database.checkBatches()
                #expect(try await database.batch(batch) == "closed - 3 3 0 0 0", "\(call)")
            }
            try await database.execute(Statement("select errand.cancel(\(two), 'wrong')"))
            for call in ["retry(\(two))", "batch_retry(\(batch), 'right')"] {
                try await database.execute(Statement("select errand.\(call)"))
                #expect(try await database.batch(batch) == "closed - 3 3 0 0 0", "\(call)")
                #expect(try await database.text(undo) == "2 of 2", "\(call)")
                #expect(try await database.batch(batch) == "closed - 3 1 0 2 0", "\(call)")
            }
            try await database.execute(Statement("select errand.cancel('{\(jobs[2])}', 'wrong')"))
            try await database.checkBatches()
            #expect(try await database.batch(batch) == "ended failed 3 0 0 3 0")
        }
    }

    @Test("a unique key that is taken, a payload and a job that are gone are named, and all else comes back")
    func named() async throws {
        try await withTestDatabase { database, _ in
            let large = "to_jsonb(repeat('x', 3000))"
            try await database.execute(
                Statement(
                    "select errand.enqueue('noop', \(large), unique_key => n::text) from generate_series(1, 4) as n"))
            try await database.execute("select errand.cancel('{1,2,3,4}', 'wrong')")
            try await database.execute("select errand.enqueue('noop', unique_key => '1')")
            try await database.execute("delete from errand.payload where job_id = 2")
            try await database.execute("delete from errand.history where id = 3")
            #expect(
                try await database.text("select job_id, undone, note from errand.undo(\(Self.last))") == """
                    1|false|job 5 has its unique key
                    2|false|its payload is no longer on record
                    3|false|it is no longer on record
                    4|true|
                    """)
            #expect(try await database.text("select payload = \(large) from errand.jobs where id = 4") == "true")
        }
    }

    @Test("a job that waited for a signal, a circuit or its time with a key has that again")
    func waits() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.circuit_open('storage', 'x')")
            try await database.execute(
                "select errand.enqueue('noop', unique_key => id, unique_for => '1 hour') from unnest('{a,b}'::text[]) as id"
            )
            try await database.execute(
                """
                update errand.job set state = 'parked', queue_position = null,
                    parked_for = case id when 1 then 'signal:paid' else 'circuit:storage' end
                """)
            try await database.execute("insert into errand.signal_wait values (1, now() + interval '1 hour', 'paid')")
            let all = """
                select job.id, state, parked_for, until, (select until from errand.signal_wait where job_id = job.id)
                from errand.job
                join errand.unique_period on job_id = job.id
                order by 1
                """
            let before = try await database.text(all)
            try await database.execute(#"select errand.cancel_where('{"kind": "noop"}', 'x', dry_run => false)"#)
            try await database.execute("delete from errand.signal_wait")
            #expect(try await database.text(all) == "")
            try await database.execute(Statement("select errand.undo(\(Self.last))"))
            #expect(try await database.text(all) == before)
            try await database.execute("select errand.signal('paid')")
            #expect(try await database.text("select state from errand.job where id = 1") == "available")
        }
    }

    @Test("what can't be undone is refused, only ops may, and only they see the old values, until they are deleted")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(#"select errand.enqueue('noop', '"anna"', subject => 'anna')"#)
            try await database.execute(#"select errand.edit_job(1, '"ben"', 'x')"#)
            let undo = "select errand.undo(\(Self.last))"
            for role in ["enqueuer", "worker", "monitor"] {
                #expect(try await database.refusal(of: undo, as: "errand_\(role)") == "42501")
            }
            #expect(try await database.refusal(of: "select errand.undo(null)") == "ER404")
            #expect(try await database.refusal(of: "select errand.undo(99)", as: "errand_ops") == "ER404")
            #expect(
                try await database.refusal(of: "select errand.undo(\(Self.last), ' ')", as: "errand_ops") == "ER422")
            let values = "select job_id, was, became is null from errand.audit_changes"
            #expect(try await database.text(values, as: "errand_ops") == #"1|{"payload": "anna"}|false"#)
            #expect(try await database.text(values, as: "errand_monitor") == "1||true")
            try await database.execute("update errand.action set done_at = now() - interval '8 days'")
            #expect(try await database.refusal(of: undo, as: "errand_ops") == "ER409")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.action_change") == 0)
            try await database.execute("select errand.put_schedule('s', 'every 1 h', 'noop', subject => 'anna')")
            try await database.execute("select errand.run_schedule('s', 'x')")
            #expect(try await database.refusal(of: undo, as: "errand_ops") == "ER409")
            try await database.execute(#"select errand.start_bulk('cancel', '{"kind": "noop"}', 'x')"#)
            #expect(try await database.refusal(of: undo, as: "errand_ops") == "ER409")
            try await database.execute("select errand_internal.run_bulk()")
            #expect(try await database.count("from errand.action_change where subject = 'anna'") == 3)
            try await database.execute("select errand_internal.erase_subject('anna', 'request 1')")
            #expect(try await database.count("from errand.action_change") == 0)
            #expect(try await database.text("\(undo)", as: "errand_ops") == "")
        }
    }

    @Test("100,000 jobs", .enabled(if: Hardness.isFull))
    func many() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.enqueue('noop', to_jsonb(n)) from generate_series(1, 100000) as n")
            for call in [
                #"cancel_where('{"kind": "noop"}', 'x', dry_run => false, max_jobs => 100000)"#,
                #"reschedule_where('{"kind": "noop"}', 'x', priority => 4, dry_run => false, max_jobs => 100000)"#,
            ] {
                let clock = ContinuousClock()
                let did = try await clock.measure {
                    try await database.execute(Statement("select count(*) from errand.\(call)"))
                }
                let began = clock.now
                let count = try await database.text("select count(*) from errand.undo(\(Self.last)) where undone")
                let undone = clock.now - began
                #expect(count == "100000")
                #expect(
                    try await database.count("from errand.job where state = 'available' and priority = 2") == 100_000)
                print("\(call): \(did), undone in \(undone)")
            }
        }
    }
}
