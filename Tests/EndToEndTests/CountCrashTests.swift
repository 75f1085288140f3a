import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Counts across crashes and stops", .serialized) struct CountCrashTests {
    private let settings = Hardness.settings.merging(["ERRAND_QUEUES": "default=20"]) { one, _ in one }
    private let counted = """
        (select coalesce(sum(jobs), 0)::bigint
         from (
            select jobs, outcome from errand.finished_total
            union all
            select jobs, outcome from errand.finished_per_minute where worker_id <> 0) as counts
         where outcome = 'succeeded')
        """

    /// Waits until the completions of the killed workers are counted. Maintenance counts those of one worker every
    /// 5 s; unless the full times are tried, this does it at once.
    private func countsMissed(_ database: Database) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(60) {
            if try await database.count("from errand.counted") == 1 { return true }
            if !Hardness.isFull { try await database.execute("select errand_internal.update_statistics()") }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    @Test("kill -9 during work: the completions of the worker's last second are counted, and none twice")
    func killed() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            var uncounted = 0
            var victims: [Program] = []
            for round in 1...3 {
                try await database.enqueueSleepers(400, milliseconds: 40)
                let victim = try Program(["worker"], database: url, settings: settings)
                let before = try await database.count("from errand.history")
                #expect(
                    try await database.becomes(
                        "count(*) > \(before + 100 + 30 * round) from errand.history", within: .seconds(60)))
                victim.send(SIGKILL)
                #expect(try await victim.exit() == -SIGKILL)
                victims.append(victim)
                uncounted = max(
                    uncounted,
                    try await database.query(
                        Statement("select count(*) - \(counted) from errand.history")
                    ).scalar(Int.self))
            }
            #expect(uncounted > 0)
            let successor = try Program(["worker"], database: url, settings: settings)
            for victim in victims { try await database.rescueJobs(of: victim) }
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job)", within: Hardness.rescue + .seconds(60)))
            #expect(try await countsMissed(database))
            successor.send(SIGTERM)
            #expect(try await successor.exit() == 0)
            #expect(try await database.count("from errand.history") == 1200)
            #expect(try await database.query(Statement("select \(counted)")).scalar(Int.self) == 1200)
            #expect(try await database.count("from errand.counted") == 0)
        }
    }

    @Test(
        "a stop beyond the grace period, a kill and a stop within it leave no slot of a limit taken, and no count behind"
    )
    func rows() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            try await database.execute("select errand.set_limit('three', 3)")
            func enqueue(_ jobs: Int, sleep: Int) async throws {
                try await database.execute(
                    Statement(
                        """
                        select count(*) from errand.enqueue_many((
                            select jsonb_agg(jsonb_build_object(
                                'kind', 'noop', 'payload', jsonb_build_object('sleep_ms', \(sleep)), 'limit_key', 'three'))
                            from generate_series(1, \(jobs))))
                        """))
            }
            let (short, sleep) = Hardness.isFull ? ("1s", 3000) : ("200ms", 800)
            for (signal, grace) in [(SIGTERM, short), (SIGKILL, "25s"), (SIGTERM, "25s")] {
                try await enqueue(6, sleep: sleep)
                let others = try await database.query("select coalesce(max(worker_id), 0) from errand.counted")
                    .scalar(Int64.self)
                let worker = try Program(
                    ["worker"], database: url, settings: settings.merging(["ERRAND_GRACE": grace]) { _, one in one })
                // Without the jobs of the killed worker.
                #expect(
                    try await database.becomes(
                        "count(*) = 3 from errand.job where state = 'running' and worker_id > \(others)",
                        within: .seconds(60)))
                worker.send(signal)
                let exit = try await worker.exit()
                // On a busy machine handing back takes longer than the 2 s after the grace: it ends by force then, with
                // 1.
                let expected = signal == SIGKILL ? [-SIGKILL] : grace == short && !Hardness.isFull ? [0, 1] : [0]
                #expect(expected.contains(exit ?? .min), "signal \(signal), grace \(grace), exit \(exit ?? .min)")
                if signal == SIGKILL { try await database.rescueJobs(of: worker) }
            }
            let last = try Program(["worker"], database: url, settings: settings)
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job)", within: Hardness.rescue + .seconds(60)))
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 18)
            #expect(try await countsMissed(database))
            try await enqueue(3, sleep: 100)
            #expect(
                try await database.becomes("count(*) = 3 from errand.job where state = 'running'", within: .seconds(10))
            )
            last.send(SIGTERM)
            #expect(try await last.exit() == 0)
            #expect(try await database.query(Statement("select \(counted)")).scalar(Int.self) == 21)
        }
    }
}
