import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Random actions are undone") struct UndoWalkTests {
    private static let rounds = Hardness.isFull ? 400 : 40

    @Test(
        "each job is as before the action, but for those that ran, and a dry run has said so", arguments: [false, true])
    func walk(isChangedBetween: Bool) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await prepare(database)
            var undone = 0
            for round in 1...Self.rounds {
                try await fill(database)
                try await run(database, as: worker)
                // What other jobs have decided about those that wait for them is seen before the action.
                for _ in 1...3 { try await database.execute("select errand_internal.check_children()") }
                let before = try await jobs(database)
                let action = try await action(on: before)
                let last = "select coalesce(max(id), 0) from errand.action"
                let earlier = try await database.text(last)
                do {
                    try await database.execute(Statement(action))
                } catch let error as PostgresError where error.sqlState == "ER409" || error.sqlState == "ER422" {
                    continue
                }
                while try await database.text("select errand_internal.run_bulk()") == "true" {}
                let id = try await database.text(last)
                // Nothing has matched.
                if id == earlier { continue }
                let left = try await jobs(database)
                if isChangedBetween { try await run(database, as: worker) }
                let changed = try await jobs(database)
                let touched = Set(changed.keys.filter { changed[$0] != left[$0] })
                let rows = "select job_id, undone, coalesce(undone or note is not null, false) from errand.undo(\(id)"
                let promised = try await database.text("\(rows), dry_run => true)")
                #expect(try await jobs(database) == changed)
                let done = try await database.text("\(rows))")
                #expect(done == promised)
                // An undo that is undone twice has done the same.
                let isRepeated = !isChangedBetween && Bool.random()
                for _ in 0..<(isRepeated ? 2 : 0) {
                    try await database.execute("select errand.undo((select max(id) from errand.action))")
                }
                let after = try await jobs(database)
                #expect(after.count == before.count)
                let lines = done.split(separator: "\n").map { $0.split(separator: "|").map(String.init) }
                #expect(lines.allSatisfy { $0[2] == "true" }, "each has a note or was undone")
                let kept = Set(lines.filter { $0[1] == "false" }.compactMap { Int64($0[0]) })
                undone += lines.count - kept.count
                #expect(touched.isEmpty || isChangedBetween)
                for (job, was) in before where !was.ran && !touched.contains(job) {
                    guard let now = after[job], !now.isLike(was) else { continue }
                    // The second undo has released it, and its time has moved: the third one leaves it so.
                    if isRepeated && was.parkedFor?.hasPrefix("job:") == true { continue }
                    // What it waited for has run since, and it waits for another one of its parents.
                    if isChangedBetween, [was, now].allSatisfy({ $0.parkedFor?.hasPrefix("job:") == true }) {
                        continue
                    }
                    // A retried job that waited for a failed one is cancelled again by the retry itself.
                    let isAgain =
                        (kept.contains(job) || isRepeated) && was.state == "cancelled" && now.state == "cancelled"
                    #expect(isAgain && action.contains("retry"), "round \(round): \(action)\n\(was)\n\(now)\n\(done)")
                }
                for job in kept { #expect(after[job]?.state == changed[job]?.state, "\(action): \(job)") }
            }
            #expect(undone > Self.rounds)
        }
    }

    /// A job as errand.jobs has it.
    private struct Seen: Equatable, CustomStringConvertible {
        let state: String
        let parkedFor: String?
        let text: String

        var ran: Bool { state == "running" }
        var description: String { "\(state) \(parkedFor ?? "") \(text)" }

        /// A job is available, too, where its limit has got room: those that ran have left it.
        func isLike(_ other: Seen) -> Bool {
            let isRoom = other.parkedFor?.hasPrefix("limit:") == true && state == "available"
            return text == other.text && (self == other || isRoom)
        }
    }

    private nonisolated func jobs(_ database: Database) async throws -> [Int64: Seen] {
        let rows = try await database.query(
            """
            select id, state, parked_for, (to_jsonb(jobs) - '{state,parked_for,waiting_for}'::text[])::text
            from errand.jobs
            """)
        var jobs: [Int64: Seen] = [:]
        for row in rows {
            let (id, state, parked, text) = try row.decode(Int64.self, String.self, String?.self, String.self)
            jobs[id] = Seen(state: state, parkedFor: parked, text: text)
        }
        return jobs
    }

    private func prepare(_ database: Database) async throws -> Int64 {
        let worker = try await database.enter()
        try await database.execute(
            """
            insert into errand.kind (name, queue, max_attempts, priority, circuits)
            values ('mail', 'default', 3, 2, '{storage}')
            """)
        try await database.execute("select errand.set_limit('tenant/1', 2)")
        try await database.execute("select errand.circuit_open('storage', 'it is moved')")
        return worker
    }

    /// Enqueues five jobs: some with a key, also for a time or while they wait, under a limit, for later, that wait for
    /// others, with a large payload.
    private func fill(_ database: Database) async throws {
        try await database.execute(
            #"""
            select errand.enqueue_many(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                'kind', case when random() < 0.3 then 'mail' else 'noop' end,
                'payload', case when random() < 0.2 then to_jsonb(repeat('x', 3000)) else to_jsonb(n) end,
                'max_attempts', case when random() < 0.5 then 1 end,
                'priority', case when random() < 0.2 then 1 end,
                'run_at', case when random() < 0.2 then now() + interval '1 hour' end,
                'limit_key', case when random() < 0.3 then 'tenant/1' end,
                'tags', case when random() < 0.5 then jsonb_build_array('t' || n % 2) end,
                'subject', case when random() < 0.2 then 'anna' end,
                'unique_key', case when n <= 3 then 'key ' || gen_random_uuid() end,
                'unique_for', case when n = 1 then '1 hour' end,
                'unique_while', case when n = 2 then 'waiting' end,
                'after', case when random() < 0.2 then parents.ids end,
                'if_parent_fails', case when parents.ids is not null then
                    ('{wait,go_on,cancel}'::text[])[1 + floor(3 * random())::int] end))))
            from generate_series(1, 5) as n
            cross join lateral (
                select jsonb_agg(id) as ids
                from (select id from errand.job where n > 0 order by random() limit 2) as any_two
            ) as parents
            """#)
    }

    /// Claims some, and completes some of those that run.
    private func run(_ database: Database, as worker: Int64) async throws {
        if Bool.random() { try await database.take(worker, kinds: "noop,mail") }
        guard Bool.random() else { return }
        let outcome = ["failed", "succeeded", "retried", "failed"].randomElement()!
        try await database.execute(
            Statement(
                """
                select errand_internal.complete_v1(
                    $1, array_agg(id), array_agg(queue_position), array_agg($2::text), array_agg('no'::text),
                    array_agg(0::bigint), array_agg(null::jsonb), null, null)
                from errand.job
                where worker_id = $1 and state = 'running' and random() < 0.7
                having count(*) > 0
                """, [worker, outcome]))
    }

    private func action(on jobs: [Int64: Seen]) async throws -> String {
        func some(_ states: String...) -> String {
            let ids = jobs.filter { states.contains($0.value.state) }.keys.shuffled().prefix(.random(in: 1...6))
            return "'{\(ids.map(String.init).joined(separator: ","))}'"
        }
        func one(_ states: String...) -> Int64 {
            jobs.filter { states.contains($0.value.state) }.keys.randomElement() ?? 0
        }
        let live = some("scheduled", "available", "parked", "running")
        let change = [
            "priority => \(Int.random(in: 1...4))", "queue => 'bulk'", "run_at => now() + interval '2 hours'",
            "run_at => now()", "queue => 'bulk', run_at => now()",
        ].randomElement()!
        let tag = #"'{"tag": "t\#(Int.random(in: 0...1))"}'"#
        let actions = [
            "cancel(\(live), 'x')", "cancel_where(\(tag), 'x', dry_run => false)",
            "discard(\(some("failed")), 'x')", "discard_where(\(tag), 'x', dry_run => false, max_jobs => 3)",
            "retry(\(some("failed", "cancelled", "scheduled")), 'x')",
            "retry_where(\(tag), 'x', dry_run => false, per_minute => 60, max_jobs => 4)",
            #"retry_where('{"state": "cancelled"}', 'x', dry_run => false, max_jobs => 4)"#,
            "reschedule(\(live), 'x', \(change), force => true)",
            "reschedule_where(\(tag), 'x', \(change), dry_run => false, force => true)",
            "edit_job(\(one("scheduled", "available", "parked", "failed")), '{\"n\": \(Int.random(in: 0...99))}', 'x')",
            "start_bulk('cancel', \(tag), 'x')", "start_bulk('discard', \(tag), 'x')",
        ]
        return "select errand.\(actions.randomElement()!)"
    }
}
