import ErrandTestKit
import Foundation
import Postgres
import Testing

/// Faults beside very many rows. `make faults` tries the promised numbers; otherwise a hundredth of them or less.
@Suite("Faults beside many rows", .serialized) struct ScaleTests {
    private let settings = Hardness.settings.merging(["ERRAND_QUEUES": "default=20"]) { one, _ in one }
    private let share = Hardness.isFull ? 1 : 100

    @Test("behind 12,000,000 jobs of another kind workers find theirs, and those of a killed one go back within 30 s")
    func rescue() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            // Of a kind that no worker here knows, before all that they may claim. In parts, each of which a
            // statement's time limit allows.
            let others = 12_000_000 / share / (Hardness.isFull ? 1 : 10)
            for _ in 0..<24 {
                try await database.execute(
                    Statement(
                        """
                        insert into errand.job (kind, queue_position)
                        select 'other', nextval('errand.job_position') from generate_series(1, $1)
                        """, [others / 24]))
            }
            let victim = try Program(["worker"], database: url, settings: settings)
            try await database.enqueueSleepers(20, milliseconds: 300_000)
            let enqueued = ContinuousClock.now
            #expect(
                try await database.becomes(
                    "count(*) = 20 from errand.job where state = 'running'", within: .seconds(60)))
            print("found after \(ContinuousClock.now - enqueued)")
            let successor = try Program(["worker"], database: url, settings: settings)
            #expect(try await database.becomes("count(*) = 2 from errand.worker", within: .seconds(60)))
            victim.send(SIGKILL)
            let killed = ContinuousClock.now
            try await database.rescueJobs(of: victim)
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job where worker_id = 1 and state = 'running')",
                    within: Hardness.rescue))
            print("rescued after \(ContinuousClock.now - killed) beside \(others) jobs that wait")
            successor.send(SIGKILL)
            _ = try await successor.exit()
        }
    }

    @Test("maintenance continues with 1,500,000 slots of limits, and no completion takes more than 50 ms")
    func slots() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            let slots = 1_500_000 / share
            // As jobs leave them behind whose keys had a limit.
            for part in 0..<10 {
                try await database.execute(
                    Statement(
                        """
                        insert into errand.limit_slot (job_id, queue_position, admitted_at, slot, limit_key)
                        select -n, -n, now() - interval '10 minutes', 1 + n / 10000, 'key/' || n % 10000
                        from generate_series($1 * $2 + 1, ($1 + 1) * $2) as n
                        """, [part, slots / 10]))
            }
            let programs = try ["worker", "scheduler"].map { try Program([$0], database: url, settings: settings) }
            let load = Task {
                while !Task.isCancelled {
                    try await database.execute(
                        "select errand.enqueue('noop', limit_key => 'key/' || n) from generate_series(1, 20) as n")
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            var longest = 0.0
            let start = ContinuousClock.now
            // A call removes 10,000, and maintenance prunes for a fiftieth of the time.
            let wanted = Hardness.isFull ? 50_000 : 10_000
            let isThere = Statement(
                "select exists (select from errand.limit_slot where job_id < 0 offset $1)",
                [Hardness.isFull ? 0 : slots - wanted])
            while ContinuousClock.now - start < .seconds(60),
                try await database.query(isThere).scalar(Bool.self)
            {
                let slowest = try await database.query(
                    """
                    select coalesce(max(extract(epoch from clock_timestamp() - query_start) * 1000), 0)::float8
                    from pg_stat_activity
                    where datname = current_database() and state = 'active'
                        and (query ~ 'errand_internal.finish_v1|errand_internal.complete_v1')
                        and pid <> pg_backend_pid()
                    """
                ).scalar(Double.self)
                longest = max(longest, slowest)
                try await Task.sleep(for: .milliseconds(Hardness.isFull ? 2 : 50))
            }
            load.cancel()
            _ = await load.result
            let left = try await database.count("from errand.limit_slot where job_id < 0")
            print("\(slots - left) of \(slots) slots pruned; the longest completion took \(longest) ms")
            #expect(slots - left >= wanted)
            #expect(longest <= 50 || !Hardness.isFull, "\(longest) ms")
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            for program in programs {
                program.send(SIGTERM)
                #expect(try await program.exit() == 0)
            }
        }
    }
}
