import ErrandTestKit
import Foundation
import Logging
import Postgres

/// A walk: a separate server, sessions with random operations of people and applications, workers, and faults.
struct RandomWalk {
    let seed: UInt64
    let span: Duration
    /// Runs after the migration.
    var breaking: String?

    struct Report {
        var faults: [WalkFault]
        /// A readable report.
        var summary: String
    }

    private static let sessions = 8
    /// A rate of 5 in 4 s, with bursts of 2.
    static let meter = WalkMeter(keys: "meter/", span: 3_000_000, most: 7)
    private static let settings = [
        "ERRAND_QUEUES": "default=6,other=3", "ERRAND_LEASE": "3s", "ERRAND_HEARTBEAT_INTERVAL": "500ms",
    ]

    func run() async throws -> Report {
        let cluster = try await KillableCluster.migrated()
        do {
            let report = try await run(on: cluster)
            try await cluster.drop()
            return report
        } catch {
            try? await cluster.drop()
            throw error
        }
    }

    private func run(on cluster: KillableCluster) async throws -> Report {
        let url = try await cluster.url()
        var configuration = try PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(30)
        let fixed = configuration
        let database = Database(
            configuration: configuration, maximumConnections: 2,
            logger: Logger(label: "walk") { _ in SwiftLogNoOpLogHandler() })
        let record = WalkRecord()
        record.with { $0.sessions = Self.sessions }
        try await prepare(database, record)

        var faults = try await withThrowingTaskGroup(of: Void.self) { group in
            for session in 0..<Self.sessions {
                group.addTask {
                    try await WalkSession(fixed, record: record).walk(WalkGenerator(seed: seed, session: session))
                }
            }
            for hand in 0..<3 {
                group.addTask { try await WalkWorker(fixed, record: record, seed: seed &+ UInt64(hand) &* 77).run() }
            }
            for role in [WalkWorker.Role.orderly, .stuck] {
                group.addTask { try await WalkWorker(fixed, record: record, seed: seed, role: role).run() }
            }
            group.addTask {
                try await WalkChaos(cluster: cluster, url: url, settings: Self.settings, seed: seed, record: record)
                    .run(for: span)
            }
            let isDrained = try await drain(database, record)
            record.with { $0.phase = .over }
            try await group.waitForAll()
            return try await WalkCheck(database: database, record: record).faults(isDrained: isDrained)
        }
        if record.with({ $0.refusals["40P01"] }) != nil { faults.insert(try deadlock(cluster), at: 0) }
        let events = try await database.count("from walk.event")
        let jobs = try await database.count("from errand.jobs")
        await database.close()
        let (newest, refusals, chaos) = record.with { ($0.newest, $0.refusals, $0.chaos) }
        return Report(
            faults: faults,
            summary:
                "seed \(seed): \(newest) transactions, \(jobs) jobs, \(events) changes; refused \(refusals); \(chaos)")
    }

    /// The lines about deadlocks in the server's log.
    private func deadlock(_ cluster: KillableCluster) throws -> WalkFault {
        let log = try String(contentsOf: cluster.folder.appendingPathComponent("postgres.log"), encoding: .utf8)
        let lines = log.split(separator: "\n").drop { !$0.contains("deadlock detected") }
        return WalkFault(id: 0, text: "a deadlock:\n\(lines.prefix(30).joined(separator: "\n"))")
    }

    private func prepare(_ database: Database, _ record: WalkRecord) async throws {
        try await database.withConnection { connection in
            try await connection.script(WalkLog.schema)
            if let breaking { try await connection.script(breaking) }
            for statement: Statement in [
                "select errand_internal.make_partitions()",
                "select set_config('walk.cause', 'operation 0 setup', false)",
                Statement("select errand_internal.register_kinds($1)", [WalkWorker.kinds]),
                "select errand.set_limit('tenant/*', 2)",
                "select errand.set_limit('solo', 1)", "select errand.set_limit('tenant/4', 1)",
                "select errand.set_key_rate('meter/*', '4 s', 5, 2)",
                "insert into walk.done values (0, 'setup', null)",
                "select set_config('walk.cause', '', false)",
            ] {
                try await connection.execute(statement)
            }
        }
        record.with { $0.acknowledged[0] = WalkRecord.now }
    }

    /// As if the transactions that have reported this circuit's service down had been rolled back. Runs from the first
    /// moment of the quiet period on: a probe would succeed, and close the circuit.
    private static let removeFence: Statement = "delete from errand.circuit where name = 'fence'"

    /// Waits for the quiet period, removes all limits and pauses, and waits until all jobs are finished: first those
    /// that workers claim, then the others.
    private func drain(_ database: Database, _ record: WalkRecord) async throws -> Bool {
        while record.phase == .chaos { try await Task.sleep(for: .milliseconds(20)) }
        // Some sessions are inside a transaction.
        repeat {
            try await database.execute(Self.removeFence)
            try await Task.sleep(for: .milliseconds(20))
        } while record.with({ $0.sessions }) > 0
        try await database.execute("select errand.set_limit('tenant/4', 0)")
        // Both park. The first one gets the only slot, and no worker claims it.
        try await change(
            database, as: "enqueue",
            """
            select errand.enqueue('unclaimed', '{"content": -1}', priority => 1, unique_key => 'unclaimed',
                on_conflict => 'replace', limit_key => 'tenant/4'),
                errand.enqueue('noop', '{"content": -2}', limit_key => 'tenant/4')
            """)
        record.with { $0.unmetered = WalkRecord.now }
        for statement: Statement in [
            "select errand.drop_schedule(name) from errand.schedule",
            "select errand.resume_queue(name) from errand.queue",
            "select errand.set_rate(queue, null, null) from errand.rate", "select errand.circuit_close('wall')",
            "select errand.set_key_rate(rate_key, null, null) from errand.key_rate",
            "select errand.batch_close(id) from errand.batch where closed_at is null",
            "select errand.set_limit(limit_key, case limit_key when 'tenant/4' then 1 else 2 end) from errand.limit",
        ] {
            try await database.execute(statement)
        }
        let start = ContinuousClock.now
        // With its slot, it is replaced by one with another limit key. The jobs of the first key must not wait for it.
        _ = try await database.becomes(
            "not exists (select from errand.job where kind = 'unclaimed' and state = 'parked')", within: .seconds(20))
        try await change(
            database, as: "enqueue",
            """
            select errand.enqueue(
                kind, payload, queue, priority => priority, unique_key => unique_key, on_conflict => 'replace',
                limit_key => 'free')
            from errand.job
            where kind = 'unclaimed'
            """)
        guard try await ends("queue <> 'idle' and kind <> 'unclaimed'", database, record) else { return false }
        try await change(
            database, as: "move",
            """
            update errand.job set queue = 'default', kind = case when kind = 'unclaimed' then 'noop' else kind end
            where queue = 'idle' or kind = 'unclaimed'
            """)
        var isDrained = try await ends("true", database, record)
        // Then their callbacks are there.
        _ = try await database.becomes(
            "not exists (select from errand.batch where ended_at is null)", within: .seconds(30))
        isDrained = try await ends("true", database, record) && isDrained
        record.with { $0.chaos["seconds until all had ended"] = Int((ContinuousClock.now - start).components.seconds) }
        return isDrained
    }

    private func change(_ database: Database, as operation: String, _ sql: String) async throws {
        try await database.transaction { transaction in
            try await transaction.execute(
                Statement("select set_config('walk.cause', $1, true)", ["operation 0 \(operation)"]))
            try await transaction.execute(Statement(sql))
        }
    }

    /// Waits until these jobs have ended. Returns false, and records which ones stay, if none has ended for 75 s. The
    /// longest wait is that of a job of two crashes: a minute behind another one.
    private func ends(_ which: String, _ database: Database, _ record: WalkRecord) async throws -> Bool {
        var fewest = Int.max
        var last = ContinuousClock.now
        while ContinuousClock.now - last < .seconds(75) {
            let left = try await database.count("from errand.job where \(which)")
            if left == 0 { return true }
            if left < fewest { (fewest, last) = (left, .now) }
            try await database.execute(Self.removeFence)
            // Nobody retries what they wait for.
            try await change(
                database, as: "cancel",
                """
                select errand.cancel(array(
                    select id from errand.job
                    where starts_with(parked_for, 'job:') and options ->> 'if_parent_fails' = 'wait'
                        and errand_internal.state_of(substr(parked_for, 5)::bigint)
                            in ('failed', 'cancelled', 'obsolete')), 'nobody retries it')
                """)
            try await change(
                database, as: "discard",
                "select errand.discard(array(select job_id from errand.blocked_keys), 'nobody retries it')")
            // As if a probe whose worker is stuck had waited for 10 s.
            try await database.execute(
                """
                update errand.circuit set released_at = released_at - interval '10 seconds'
                where probe_job_id in (select id from errand.job where queue = 'idle' and state = 'available')
                """)
            try await Task.sleep(for: .milliseconds(100))
        }
        let rows = try await database.query(
            Statement(
                """
                select format('%s %s %s in %s', count(*), kind, coalesce('parked for ' || parked_for, state), queue)
                from errand.job where \(which) group by kind, state, parked_for, queue order by count(*) desc limit 20
                """))
        let groups = try rows.column(0, as: String.self).joined(separator: ", ")
        record.with { $0.surprises.append("\(fewest) jobs did not finish: \(groups)") }
        return false
    }
}

/// Kills, stops and starts the programs and the server.
struct WalkChaos {
    let cluster: KillableCluster
    let url: String
    let settings: [String: String]
    let seed: UInt64
    let record: WalkRecord

    /// Continues for that long and begins the quiet period. After that, the programs run without faults.
    func run(for span: Duration) async throws {
        var random = SeededGenerator(seed: seed &+ 4711)
        var workers = [try worker(), try worker()]
        var scheduler = try Program(["scheduler"], database: url)
        let start = ContinuousClock.now
        // The server once, in a long walk twice.
        var crashes = [span / 3] + (span > .seconds(30) ? [span / 3 * 2] : [])
        while ContinuousClock.now - start < span {
            try await Task.sleep(for: .milliseconds(Int.random(in: 100..<1500, using: &random)))
            let index = Int.random(in: 0..<2, using: &random)
            if let next = crashes.first, start + next <= .now {
                crashes.removeFirst()
                note("server killed")
                try cluster.kill()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<1000, using: &random)))
                try await cluster.start()
                note("server back")
                continue
            }
            switch Int.random(in: 0..<10, using: &random) {
            case ..<3:
                note("worker killed")
                workers[index].send(SIGKILL)
                workers[index] = try worker()
            case ..<5:
                workers[index].send(SIGTERM)
                note("worker stopped")
                let code = try await workers[index].exit()
                // The signal itself ends one that has not begun: it has said nothing yet.
                let hasBegun = code != -SIGTERM || !workers[index].output.isEmpty
                if code != 0, hasBegun {
                    surprise("a worker ended with \(code ?? -1): \(workers[index].output.suffix(1000))")
                }
                workers[index] = try worker()
            case ..<7:
                note("worker frozen")
                workers[index].send(SIGSTOP)
                try await Task.sleep(for: .milliseconds(Int.random(in: 200..<6000, using: &random)))
                workers[index].send(SIGCONT)
            case ..<8:
                note("scheduler killed")
                scheduler.send(SIGKILL)
                scheduler = try Program(["scheduler"], database: url)
            case ..<9:
                note("backends ended")
                let ends =
                    "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = $$client backend$$"
                _ = try? await shell("psql -qX '\(url)' -c '\(ends)' > /dev/null")
            default: break
            }
            for index in workers.indices where !workers[index].isRunning {
                surprise("a worker ended by itself: \(workers[index].output.suffix(1000))")
                workers[index] = try worker()
            }
        }
        record.with { $0.phase = .quiet }
        while record.phase != .over { try await Task.sleep(for: .milliseconds(20)) }
        for program in workers + [scheduler] {
            program.send(SIGTERM)
            let code = try await program.exit()
            if code != 0 { surprise("a program ended with \(code ?? -1): \(program.output.suffix(1000))") }
        }
    }

    private func worker() throws -> Program { try Program(["worker"], database: url, settings: settings) }
    private func surprise(_ text: String) { record.with { $0.surprises.append(text) } }
    private func note(_ what: String) {
        record.with { state in
            state.chaos[what, default: 0] += 1
            state.kills.append(WalkRecord.now)
        }
    }
}
