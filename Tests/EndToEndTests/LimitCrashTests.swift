import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Limits across crashes", .serialized) struct LimitCrashTests {
    private let settings = Hardness.settings.merging(["ERRAND_QUEUES": "default=20"]) { one, _ in one }

    @Test("never more than three run under a limit, while two of three workers are killed; all jobs get through")
    func killed() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            try await database.execute("select errand.set_limit('a', 3)")
            try await database.execute(
                """
                select count(*) from errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object('kind', 'noop', 'payload', '{"sleep_ms": 50}'::jsonb, 'limit_key', 'a'))
                    from generate_series(1, 100)))
                """)
            var workers = try (0..<3).map { _ in try Program(["worker"], database: url, settings: settings) }
            var most = 0
            var kills = 0
            let start = ContinuousClock.now
            while try await database.count("from errand.job") > 0, ContinuousClock.now - start < Hardness.rescue * 6 {
                let running = try await database.count("from errand.job where state = 'running'")
                most = max(most, running)
                let ended = try await database.count("from errand.history")
                // Two workers are killed while they work. The last worker continues alone.
                if kills < 2, ended >= 20 * (kills + 1), running > 0 {
                    let victim = workers.removeFirst()
                    victim.send(SIGKILL)
                    try await database.rescueJobs(of: victim)
                    kills += 1
                }
                try await Task.sleep(for: .milliseconds(Hardness.isFull ? 2 : 10))
            }
            #expect(kills == 2)
            #expect(most == 3)
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 100)
            #expect(try await database.count("from errand.history where crashes <> attempt - 1") == 0)
            workers[0].send(SIGTERM)
            #expect(try await workers[0].exit() == 0)
        }
    }
}
