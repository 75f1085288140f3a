import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Deadlocks") struct DeadlockTests {
    /// All calls that lock jobs, keys, limits or rates, on the same few of each.
    private static let calls = [
        "select errand.cancel(array(select id from errand.job order by random() limit 4), 'x')",
        "select errand.cancel_where('{\"kind\": \"noop\"}', 'x', dry_run => false, max_jobs => 3)",
        "select errand.retry(array(select id from errand.failed order by random() limit 4) || array(select id from errand.job where state = 'scheduled' limit 2))",
        "select errand.retry(array(select id from errand.history where state = 'cancelled' order by random() limit 4))",
        "select errand.retry_where('{\"kind\": \"noop\"}', dry_run => false, max_jobs => 3)",
        "select errand.discard(array(select id from errand.failed order by random() limit 4), 'x')",
        "select errand.reschedule(array(select id from errand.job order by random() limit 4), priority => 1 + (random() * 3)::int)",
        "select errand.reschedule(array(select id from errand.job order by random() limit 4), run_at => now() + interval '50 ms')",
        """
        select errand.reschedule_where(
            '{\"kind\": \"noop\"}', 'x', priority => 1 + (random() * 3)::int, dry_run => false, max_jobs => 4)
        """,
        "select errand.reschedule_where('{\"kind\": \"noop\"}', 'x', per_minute => 9999, dry_run => false, max_jobs => 4)",
        "select errand.edit_job((select id from errand.job order by random() limit 1), '1', 'x')",
        "select errand.edit_job((select id from errand.failed order by random() limit 1), '1', 'x')",
        "select errand.undo((select id from errand.action order by random() limit 1))",
        "select errand.undo((select id from errand.action order by id desc limit 1))",
        "select errand.release_worker((select id from errand.worker order by random() limit 1), 'x', force => true)",
        "select errand.drain_worker((select id from errand.worker order by random() limit 1), 'x')",
        "select errand.undrain_worker((select id from errand.worker order by random() limit 1))",
        "select errand.pause_kind('noop', 'x', now() + interval '20 ms', force => true)",
        "select errand.resume_kind('noop')",
        "select errand.pause_queue('default', 'x', now() + interval '20 ms')", "select errand.resume_queue('default')",
        "select errand.circuit_open('storage', 'x', now())", "select errand.circuit_close('storage')",
        "select errand.set_limit('a', (random() * 3)::int)", "select errand.set_rate('default', '100 ms', 50)",
        "select errand.put_schedule('s', 'every 1 s', 'noop')", "select errand.run_schedule('s', 'x')",
        "select errand.enqueue('noop', unique_key => 'k' || (random() * 9)::int, on_conflict => 'replace', limit_key => 'a')",
        "select errand.enqueue('noop', unique_key => 'k' || (random() * 9)::int, on_conflict => 'reschedule')",
        """
        select errand.enqueue_many((
            select jsonb_agg(jsonb_build_object(
                'kind', 'noop', 'unique_key', 'k' || n, 'on_conflict', (array['replace', 'reschedule', 'keep', 'supersede'])[1 + n % 4],
                'limit_key', (array['a', 'b'])[1 + n % 2]) order by random())
            from generate_series(1, 9) as n))
        """,
        """
        select errand.enqueue_many((
            select jsonb_agg(jsonb_build_object('kind', 'noop', 'unique_key', 'k' || n) || (array[
                '{"on_conflict": "merge"}', '{"on_conflict": "supersede", "unique_for": "10 ms"}',
                '{"on_conflict": "reschedule", "no_later_than": "1 s"}', '{"unique_while": "waiting"}',
                '{"unique_for": "1 hour"}']::jsonb[])[1 + (random() * 4)::int] order by random())
            from generate_series(1, 9) as n))
        """,
        "select errand.enqueue('noop', limit_key => 'b') from generate_series(1, 5)",
        """
        select errand.enqueue(
            'noop', unique_key => 'k' || (random() * 9)::int,
            if_parent_fails => (array['wait', 'go_on', 'cancel'])[1 + (random() * 2)::int],
            after => array(select id from errand.job order by random() limit 2))
        """,
        "select errand_internal.check_batches()",
        "select errand.enqueue('noop', batch => errand.batch_open('b', on_finish => '{\"kind\": \"noop\"}'))",
        "select errand.batch_close(id) from errand.batch where ended_at is null order by random() limit 1",
        "select errand.batch_cancel(id, 'x') from errand.batch order by random() limit 1",
        "select errand.batch_retry(id, 'x') from errand.batch order by random() limit 1",
        "select errand_internal.check_children()", "select errand_internal.check_rates()",
        "select errand.set_key_rate('r', '1 s', 1 + (random() * 50)::int)",
        "select errand.enqueue('noop', rate_key => 'r') from generate_series(1, 5)",
        """
        select errand.enqueue(
            'noop', unique_key => 'k' || (random() * 9)::int, on_conflict => (array['keep', 'replace'])[1 + (random())::int],
            order_key => 'o' || (random() * 3)::int, if_head_fails => (array['block', 'go_on'])[1 + (random())::int])
        """,
        """
        select errand.enqueue_many((
            select jsonb_agg(jsonb_build_object('kind', 'noop', 'order_key', 'o' || n % 4) order by random())
            from generate_series(1, 9) as n))
        """,
        "select errand_internal.check_orders()",
        "select errand_internal.promote(100, '-infinity')", "select errand_internal.release_parked()",
        "select errand_internal.rescue(0)",
        "select errand_internal.release_crashed()",
        "select errand_internal.update_statistics()",
        "select errand_internal.leave_v1((select id from errand.worker order by random() limit 1), true)",
    ]

    private static let rounds = Hardness.isFull ? 40 : 2

    @Test("no two functions deadlock: concurrent people, applications and workers on the same jobs")
    func none() async throws {
        try await withTestDatabase(connections: 14) { database, _ in
            for setup: Statement in [
                "select errand.set_limit('a', 2)", "select errand.set_limit('b', 3)",
                "select errand.set_rate('default', '100 ms', 50)", "select errand.enqueue('noop')",
            ] {
                try await database.execute(setup)
            }
            let states = Shared<[String: Int]>([:])
            let ended = Shared(0)
            let isEnded = Shared(false)
            let rounds = Self.rounds
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seed in 0..<7 {
                    group.addTask {
                        var random = SeededGenerator(seed: UInt64(seed))
                        for _ in 0..<rounds {
                            // Each call once a round, in another order in each session.
                            for call in Self.calls.shuffled(using: &random) {
                                await note(states) { try await run(call, on: database) }
                            }
                        }
                    }
                }
                for _ in 0..<4 {
                    group.addTask {
                        while !isEnded.with({ $0 }) {
                            await note(states) {
                                let count = try await work(on: database)
                                ended.with { $0 += count }
                            }
                        }
                    }
                }
                for _ in 0..<7 { try await group.next() }
                isEnded.with { $0 = true }
                try await group.waitForAll()
            }
            let seen = states.with { $0 }
            #expect(seen["40P01"] == nil, "\(seen)")
            #expect(ended.with { $0 } > 0)
        }
    }

    @Test("two transactions that set limits and then admit jobs don't deadlock: the second admits none")
    func newLimits() async throws {
        try await withTestDatabase { database, _ in
            try await database.transaction { first in
                try await first.execute("select errand.set_limit('a', 1)")
                try await database.transaction { second in
                    try await second.execute("select errand.set_limit('b', 1)")
                    #expect(try await first.query("select errand_internal.lock_limits()").scalar(Bool.self))
                    #expect(try await !second.query("select errand_internal.lock_limits()").scalar(Bool.self))
                }
            }
        }
    }

    @Test("two bulk enqueues with the same keys succeed if a job with one of them finishes in between")
    func keyFallsFree() async throws {
        try await withTestDatabase { database, _ in
            for setup: Statement in [
                """
                create function public.stall() returns trigger language plpgsql as $$
                begin
                    if new.payload = '"stalls"' then perform pg_advisory_xact_lock(7); end if;
                    return null;
                end
                $$
                """, "create trigger stall after insert on errand.job for each row execute function public.stall()",
                "select errand.enqueue('noop', unique_key => 'a')",
            ] {
                try await database.execute(setup)
            }
            func enqueue(_ payload: String) -> Task<[Int64], any Error> {
                Task {
                    try await database.query(
                        Statement(
                            "select job_id from errand.enqueue_many($1) order by ordinal",
                            [
                                JSONB(
                                    """
                                    [{"kind": "noop", "unique_key": "a"},
                                     {"kind": "noop", "unique_key": "b", "payload": "\(payload)"}]
                                    """)
                            ])
                    ).column(0, as: Int64.self)
                }
            }
            let (first, second) = try await database.transaction { transaction in
                try await transaction.execute("select pg_advisory_xact_lock(7)")
                // It waits for a's key, which is taken, and has b's.
                let first = enqueue("stalls")
                #expect(try await database.becomes(Self.isWaiting("advisory")))
                try await database.execute("select errand.cancel('{1}', 'x')")
                // It has a's key, and waits for b's.
                let second = enqueue("")
                #expect(try await database.becomes(Self.isWaiting("transactionid")))
                return (first, second)
            }
            #expect(try await first.value == second.value)
            #expect(try await database.count("from errand.job") == 2)
        }
    }

    private static func isWaiting(_ type: String) -> String {
        """
        exists (
            select from pg_locks
            where not granted and locktype = '\(type)'
                and pid in (select pid from pg_stat_activity where datname = current_database()))
        """
    }

    private func run(_ call: String, on database: Database) async throws {
        try await database.transaction { transaction in
            // So that a deadlock is reported within the test's time.
            try await transaction.execute("set local deadlock_timeout = '20ms'")
            try await transaction.execute(Statement(call))
        }
    }

    /// A worker: registers, and then several times completes its jobs and claims more in one transaction.
    private func work(on database: Database) async throws -> Int {
        let worker = try await ManualWorker(database)
        var (held, ended): ([ClaimedJob], Int) = ([], 0)
        for round in 0..<10 {
            let ends: [(ClaimedJob) -> Completion] = [
                { .succeeded($0) }, { .succeeded($0, output: JSONB("1")) }, { .failed($0, error: "x") },
                { .retried($0, error: "x", after: .zero) }, { .parked($0, circuit: "storage", reason: "x") },
                { .released($0) },
            ]
            let completions = held.reversed().enumerated().map { index, job in ends[(index + round) % ends.count](job) }
            var claim = worker.claiming(5)
            claim.limitsToRelease = Set(Completion.limitKeys(of: completions))
            let statements =
                ["set local deadlock_timeout = '20ms'"] + Completion.statements(for: completions) + [claim.statement]
            let replies = try await database.pipeline(statements)
            ended += completions.count
            held = try claim.reply(replies[replies.count - 1]).jobs
        }
        return ended
    }

    private func note(_ states: Shared<[String: Int]>, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            let state = (error as? PostgresError)?.sqlState ?? "\(error)"
            states.with { $0[state, default: 0] += 1 }
        }
    }
}
