import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@Suite("Flows while everything is killed", .serialized) struct FlowCrashTests {
    /// One seed to try again; `make faults` tries twenty.
    private static let chosen = ProcessInfo.processInfo.environment["ERRAND_FLOW_SEED"].flatMap { UInt64($0) }
    private static let seeds: [UInt64] = chosen.map { [$0] } ?? (Hardness.isFull ? Array(1...20) : [1])

    @Test(
        """
        a chain, a fan, diamonds, batches, late commits and REPEATABLE READ, while workers, server and connections are \
        killed and failed jobs retried: none begins before those that it waits for, and each callback comes once
        """, arguments: seeds)
    func killed(seed: UInt64) async throws {
        try await withOwnServer { cluster, _ in
            var configuration = try PostgresConfiguration(url: await cluster.url())
            // The checks read all jobs.
            configuration.statementTimeout = .seconds(60)
            let database = Database(
                configuration: configuration, maximumConnections: 8,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let storm = FlowStorm(cluster: cluster, database: database, seed: seed)
            try await storm.enqueueFlows()
            let batch = try await storm.enqueueBatch()
            let workers = try await storm.run(closing: batch)
            let start = ContinuousClock.now
            if try await !storm.drain() { Issue.record("\(try await storm.left())") }
            print(
                "seed \(seed): drained \(ContinuousClock.now - start) after the last kill; \(try await storm.counts())")
            try await storm.expectRules(of: batch)
            for worker in workers { try await worker.expectToStop() }
            await database.close()
        }
    }
}

/// Flows in a database, callers that add to them, and what kills and retries meanwhile.
private struct FlowStorm {
    let cluster: KillableCluster
    let database: Database
    let seed: UInt64

    private static let chain = Hardness.isFull ? 1000 : 40
    private static let fan = Hardness.isFull ? 100_000 : 300
    /// How many jobs of the fan one job waits for.
    private static let group = Hardness.isFull ? 1000 : 100
    private static let batch = Hardness.isFull ? 10_000 : 200
    private static let kills = Hardness.isFull ? 20 : 4
    /// A short lease also with the full numbers: a chain waits for it after each kill that hits it.
    private static let settings = [
        "ERRAND_QUEUES": "default=20", "ERRAND_LEASE": "4s", "ERRAND_HEARTBEAT_INTERVAL": "500ms",
    ]
}

// MARK: - Flows
extension FlowStorm {
    /// Jobs that are enqueued before anything is killed: all of them must be there at the end.
    func enqueueFlows() async throws {
        try await database.execute(
            Statement(
                """
                select count(*)
                from errand.enqueue_many((
                    select jsonb_agg(
                        jsonb_build_object('kind', 'noop', 'max_attempts', 100, 'tags', '["chain"]'::jsonb,
                            'payload', '{"sleep_ms": 20}'::jsonb,
                            'after_elements', case when n > 1 then jsonb_build_array(n - 1) else '[]' end)
                        order by n)
                    from generate_series(1, $1::int) as n))
                """, [Self.chain]))
        let root = try await database.query(
            "select job_id from errand.enqueue('noop', max_attempts => 100, tags => '{fan}')"
        ).scalar(Int64.self)
        // Spokes, and a joint that waits for them.
        let group = Statement(
            """
            select job_id
            from errand.enqueue('noop', max_attempts => 100, tags => '{fan}', after => array(
                select job_id
                from errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object(
                        'kind', 'noop', 'max_attempts', 100, 'tags', '["fan"]'::jsonb,
                        'after', jsonb_build_array($1::bigint)))
                    from generate_series(1, $2::int)))))
            """, [root, Self.group])
        var joints: [Int64] = []
        for _ in 0..<Self.fan / Self.group { joints.append(try await database.query(group).scalar(Int64.self)) }
        try await database.execute(
            Statement(
                "select job_id from errand.enqueue('noop', max_attempts => 100, after => $1, tags => '{fan}')",
                [joints]))
    }

    /// A batch of which one job in a hundred fails, until its payload is repaired. Returns its id.
    func enqueueBatch() async throws -> Int64 {
        let batch = try await database.query(Statement(Self.opensBatch)).scalar(Int64.self)
        try await database.execute(
            Statement(
                """
                select count(*)
                from errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object(
                        'kind', 'noop', 'batch', $1::bigint, 'max_attempts', 100,
                        'payload',
                            case when n % 100 = 0 then '{"fail": "permanent"}' else '{"sleep_ms": 150}' end::jsonb))
                    from generate_series(1, $2::int) as n))
                """, [batch, Self.batch]))
        return batch
    }

    private static let opensBatch = """
        select errand.batch_open(
            'storm', on_success => '{"kind": "noop", "max_attempts": 100}',
            on_finish => '{"kind": "noop", "max_attempts": 100}', on_failure => '{"kind": "noop", "max_attempts": 100}')
        """
}

// MARK: - Callers
extension FlowStorm {
    /// Adds to the flows at random until its task is cancelled. Which calls fail in a kill doesn't matter.
    private func call(_ number: UInt64, adding batch: Int64) async {
        var random = SeededGenerator(seed: seed &* 100 &+ number)
        while !Task.isCancelled {
            let held = Duration.milliseconds(Int.random(in: 0...9, using: &random) < 6 ? 10 : 600)
            let fails = Int.random(in: 0...3, using: &random) == 0
            let commits = Int.random(in: 0...9, using: &random) > 0
            let isRepeatable = Int.random(in: 0...2, using: &random) == 0
            let statement =
                switch Int.random(in: 0...3, using: &random) {
                case 0: Self.diamond(failing: fails)
                case 1: Self.smallBatch(failing: fails)
                case 2: Statement("select job_id from errand.enqueue('noop', batch => $1)", [batch])
                default: nil as Statement?
                }
            do {
                try await database.transaction { transaction in
                    if isRepeatable {
                        try await transaction.execute("set transaction isolation level repeatable read")
                        // The snapshot is older than what the other callers enqueue meanwhile.
                        try await transaction.execute("select count(*) from errand.queue")
                        try await Task.sleep(for: held)
                    }
                    let parents = statement == nil ? try await newest() : []
                    try await transaction.execute(statement ?? child(of: parents))
                    try await Task.sleep(for: held)
                    if !commits { throw RolledBack() }
                }
            } catch {
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Some of the jobs that other sessions see.
    private func newest() async throws -> [Int64] {
        try await database.query(
            """
            select id
            from (
                (select id from errand.job order by id desc limit 30)
                union all
                (select id from errand.history order by id desc limit 5)
            ) as job
            order by random() limit 3
            """
        ).column(0, as: Int64.self)
    }

    private func child(of parents: [Int64]) -> Statement {
        Statement("select job_id from errand.enqueue('noop', max_attempts => 100, after => $1)", [parents])
    }

    private static func diamond(failing: Bool) -> Statement {
        Statement(
            """
            select count(*)
            from errand.enqueue_many((
                select jsonb_agg(
                    jsonb_build_object('kind', 'noop', 'max_attempts', 100, 'after_elements', after, 'payload',
                        case when $1 and n = 2 then '{"fail": "permanent"}' else '{"sleep_ms": 5}' end::jsonb)
                    order by n)
                from unnest('{[],[1],[1],"[2, 3]"}'::jsonb[]) with ordinality as element (after, n)))
            """, [failing])
    }

    private static func smallBatch(failing: Bool) -> Statement {
        Statement(
            """
            with opened as materialized (\(opensBatch) as id),
            filled as materialized (
                select count(*) as count
                from opened
                cross join lateral errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object('kind', 'noop', 'max_attempts', 100, 'batch', opened.id, 'payload',
                        case when $1 and n = 2 then '{"fail": "permanent"}' else '{"sleep_ms": 5}' end::jsonb))
                    from generate_series(1, 3) as n))
            )
            select errand.batch_close(opened.id) from opened cross join filled where filled.count = 3
            """, [failing])
    }

    /// Repairs and retries what has failed.
    private func retry() async throws {
        try await database.transaction { transaction in
            let failed = try await transaction.query(
                "select id from errand.failed where payload ? 'fail' order by id limit 100"
            ).column(0, as: Int64.self)
            for id in failed {
                try await transaction.execute(Statement("select errand.edit_job($1, '{}', 'repaired')", [id]))
            }
            try await transaction.execute(Statement("select errand.retry($1, reason => 'repaired')", [failed]))
        }
    }
}

private struct RolledBack: Error {}

// MARK: - Kills
extension FlowStorm {
    /// Kills while callers call. Closes the batch in between. Returns the workers that run after the last kill.
    func run(closing batch: Int64) async throws -> [Program] {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number: UInt64 in 1...4 {
                group.addTask { await call(number, adding: batch) }
            }
            group.addTask {
                while !Task.isCancelled {
                    try? await retry()
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
            defer { group.cancelAll() }
            return try await kill(closing: batch)
        }
    }

    private func kill(closing batch: Int64) async throws -> [Program] {
        var random = SeededGenerator(seed: seed)
        let url = try await cluster.url()
        var workers = try (0..<2).map { _ in try Program(["worker"], database: url, settings: Self.settings) }
        var killed: [Program] = []
        var victims: [String] = []
        for kill in 1...Self.kills {
            try await Task.sleep(
                for: .milliseconds(Int.random(in: 300...(Hardness.isFull ? 4000 : 700), using: &random)))
            if victims.isEmpty { victims = ["server", "connections", "worker", "worker"].shuffled(using: &random) }
            switch victims.removeLast() {
            case "server":
                try cluster.kill()
                try await cluster.start()
            case "connections":
                _ = try? await database.execute(
                    """
                    select pg_terminate_backend(pid)
                    from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid()
                    """)
            default:
                let index = Int.random(in: 0..<2, using: &random)
                workers[index].send(SIGKILL)
                killed.append(workers[index])
                workers[index] = try Program(["worker"], database: url, settings: Self.settings)
            }
            if kill == Self.kills / 2 { try await close(batch) }
        }
        for worker in killed { try await database.rescueJobs(of: worker) }
        return workers
    }

    private func close(_ batch: Int64) async throws {
        let start = ContinuousClock.now
        while true {
            do {
                try await database.execute(Statement("select errand.batch_close($1)", [batch]))
                return
            } catch  where ContinuousClock.now - start < .seconds(20) {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}

// MARK: - Rules
extension FlowStorm {
    private static let isDone = """
        not exists (select from errand.job) and not exists (select from errand.failed)
            and not exists (select from errand.batch where ended_at is null)
        """

    /// Waits until all jobs have succeeded, with what failed retried, and all batches have ended.
    func drain() async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < Hardness.rescue + .seconds(Hardness.isFull ? 900 : 120) {
            try await retry()
            if try await database.becomes(withoutDelays: Self.isDone, within: .seconds(1)) { return true }
        }
        return false
    }

    /// What keeps the database from being done.
    func left() async throws -> String {
        try await database.query(
            """
            select concat_ws('; ',
                (
                    select string_agg(job, ', ')
                    from (
                        select format('%s %s %s %s', id, state, parked_for, left(error, 60)) as job
                        from errand.jobs where state not in ('succeeded') order by id limit 20
                    ) as some
                ),
                (select 'batches ' || string_agg(id::text, ' ') from errand.batch where ended_at is null))
            """
        ).scalar(String.self)
    }

    func counts() async throws -> String {
        try await database.query(
            """
            select format('%s jobs, %s of them lost once; %s batches, %s of them failed', count(*),
                count(*) filter (where attempts @> '[{"outcome": "lost"}]'), (select count(*) from errand.batch),
                (select count(*) from errand.batch where outcome = 'failed'))
            from errand.history
            """
        ).scalar(String.self)
    }

    func expectRules(of batch: Int64) async throws {
        #expect(try await database.count("from errand.history where tags @> '{chain}'") == Self.chain)
        #expect(
            try await database.count("from errand.history where tags @> '{fan}'")
                == Self.fan + Self.fan / Self.group + 2)
        #expect(try await database.count("from errand.history where state <> 'succeeded'") == 0)
        #expect(
            try await database.count("from (select from errand.history group by id having count(*) > 1) as twice") == 0)
        // Those that were rolled back could not be named.
        let early = """
            from errand.history as child
            cross join lateral jsonb_array_elements_text(child.options -> 'after') as parent_id
            cross join lateral (
                select least(child.started_at, min((record ->> 'started_at')::timestamptz)) as began
                from jsonb_array_elements(child.attempts) as record
            ) as first
            left join errand.history as parent on parent.id = parent_id::bigint
            """
        #expect(try await database.count(early) > Self.fan)
        #expect(try await database.count("\(early) where parent.id is null or parent.finished_at > first.began") == 0)
        #expect(try await database.count("from errand.batch where id = \(batch) and total >= \(Self.batch)") == 1)
        let faults = try await database.faultsOfBatches()
        #expect(faults == [])
    }
}
