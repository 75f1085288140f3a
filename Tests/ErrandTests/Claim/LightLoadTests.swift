import ErrandTestKit
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("A worker with little to do") struct LightLoadTests {
    @Test(
        "at 20 jobs a second a job takes few transactions: its enqueue, a claim, and its completion",
        .enabled(if: !TestServer.isPooled, "behind a pooler in transaction mode there are no wake-ups"))
    func transactions() async throws {
        try await withWorker(configure: { $0.queues = ["default": 10] }) { database, queue in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            func work(jobs: Int) async throws {
                for _ in 0..<jobs {
                    try await queue.enqueue(Noop())
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            // A session reports its transactions once a second.
            let commits = "xact_commit from pg_stat_database where datname = current_database()"
            try await work(jobs: 20)
            let before = try await database.query(Statement("select \(commits)")).scalar(Int.self)
            let began = ContinuousClock.now
            try await work(jobs: 40)
            let after = try await database.query(Statement("select \(commits)")).scalar(Int.self)
            // A job's were 10 and more when each wake-up lowered the flag, and probes raised it again. Maintenance and
            // probes make some four a second, for as long as it took beside other tests.
            let seconds = Int((ContinuousClock.now - began) / .seconds(1))
            #expect(after - before <= 40 * 5 + 8 * (seconds + 1))
        }
    }

    private static let manyQueues = Dictionary(uniqueKeysWithValues: (1...40).map { ("q\($0)", 2) })

    @Test(
        "a wake-up makes a worker of 40 queues claim only from those that have something",
        .enabled(if: !TestServer.isPooled, "behind a pooler in transaction mode there are no wake-ups"))
    func onlyBusyQueues() async throws {
        let trips = Mutex(0)
        try await withWorker(configure: {
            $0.queues = Self.manyQueues
            $0.onRoundTrip = { _ in trips.withLock { $0 += 1 } }
        }) { database, _ in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            #expect(try await database.becomes("last_value = 2 from errand.wake_flag"))
            let before = trips.withLock(\.self)
            for _ in 1...10 {
                try await Task.sleep(for: .milliseconds(20))
                try await database.execute("select errand.enqueue('noop', queue => 'q7')")
                #expect(try await database.drains())
            }
            #expect(trips.withLock(\.self) - before <= 100)
        }
    }

    @Test(
        "40 queues share six connections for claims, and one with a backlog holds up no other",
        .enabled(if: !TestServer.isPooled, "the connections of a pooler serve more than claims"))
    func sharedConnections() async throws {
        try await withWorker(configure: { $0.queues = Self.manyQueues }) { database, _ in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            let most = Mutex(0)
            let connections = """
                from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid()
                    and (query like '%errand_internal.claim_v1%' or query like '%errand_internal.probe_v1%')
                """
            try await database.execute(
                """
                select errand.enqueue_many(jsonb_agg(jsonb_build_object('kind', 'noop', 'queue', queue)))
                from (
                    select 'q1' as queue from generate_series(1, 5000)
                    union all
                    select 'q' || number from generate_series(2, 40) as number) as job
                """)
            let isDrained = try await database.becomes(
                "not exists (select from errand.job)", within: .seconds(240),
                after: {
                    let open = try await database.count(connections)
                    most.withLock { $0 = max($0, open) }
                })
            #expect(isDrained)
            let areFirst = "max(finished_at) filter (where queue <> 'q1') < max(finished_at) from errand.history"
            #expect(try await database.query(Statement("select \(areFirst)")).scalar(Bool.self))
            #expect((1...6).contains(most.withLock(\.self)))
        }
    }

    @Test("forged wake-ups cost at most 30 claims a second, and it starts a job soon all the same")
    func forged() async throws {
        let claims = Mutex(0)
        try await withWorker(configure: {
            $0.queues = ["default": 10]
            $0.onRoundTrip = { _ in claims.withLock { $0 += 1 } }
        }) { database, queue in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            let before = claims.withLock(\.self)
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .seconds(1) {
                try await database.execute(
                    "select pg_notify('errand_wake', i::text) from generate_series(1, 20) as i")
                try await Task.sleep(for: .milliseconds(5))
            }
            let took = ContinuousClock.now - start
            #expect(claims.withLock(\.self) - before <= 30 * Int(took / .seconds(1) + 1))
            try await queue.enqueue(Noop())
            #expect(try await database.drains())
        }
    }
}
