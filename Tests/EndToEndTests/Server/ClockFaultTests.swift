import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@Suite(
    "A wrong clock", .serialized,
    .enabled(if: Hardness.isFull, "jobs that outlive a lease take time that `make test` does not have"),
    .enabled(if: FakeClock.isThere, "libfaketime is missing: scripts/need.sh faults"))
struct ClockFaultTests {
    private static let warning = "this host's clock differs from the database's"

    @Test(
        "of a worker and a scheduler: jobs and ticks follow the database, no lease is lost, and the worker warns",
        arguments: ["+1h", "-1h", "+1d", "-1d"])
    func ofWorker(offset: String) async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            // Short, so that jobs outlive it.
            let right = [
                "ERRAND_QUEUES": "default=20,ticks=2", "ERRAND_LEASE": "6s", "ERRAND_HEARTBEAT_INTERVAL": "2s",
            ]
            let wrong = right.merging(try await FakeClock.environment(offset)) { one, _ in one }
            let worker = try Program(["worker"], database: url, settings: wrong)
            let other = try Program(["worker"], database: url, settings: right)
            let scheduler = try Program(["scheduler"], database: url, settings: wrong)
            let programs = [worker, other, scheduler]
            defer {
                for program in programs { program.send(SIGKILL) }
                for program in programs { FakeClock.removeTraces(of: program.id) }
            }
            for program in [worker, other] { #expect(try await program.writes("registered")) }
            #expect(try await scheduler.writes("scheduling"))
            for program in [worker, scheduler] {
                #expect(abs(try Self.ahead(program) - Self.seconds(offset)) < 30)
            }
            let start = try await database.query("select clock_timestamp()::text").scalar(String.self)
            try await enqueue(on: database)
            #expect(
                try await database.becomes(
                    "(select count(*) from errand.history where queue = 'default' and kind = 'noop') = 80",
                    within: .seconds(40)))
            try await expectOnTime(since: start, on: database, offset: offset)
            #expect(try await worker.writes(Self.warning))
            let skew = worker.output.firstMatch(of: /skew_seconds=(-?[0-9.]+)/).flatMap { Double($0.output.1) }
            #expect(abs((skew ?? 0) - Self.seconds(offset)) < 5, "\(offset): \(skew ?? 0)")
            #expect(!other.output.contains(Self.warning))
            for program in programs {
                program.send(SIGTERM)
                #expect(try await program.exit() == 0)
            }
            for program in [worker, other] {
                #expect(!program.output.contains("lease lost") && !program.output.contains("workers were lost"))
            }
        }
    }

    @Test(
        "of the database, an hour ahead at once: due jobs run once, live workers keep theirs, a stopped one is fenced")
    func ofDatabase() async throws {
        let cluster = try await KillableCluster.migrated()
        do {
            try await cluster.stop()
            try await FakeClock.start(cluster)
            try await jump(cluster)
        } catch {
            try? await cluster.drop()
            throw error
        }
        try await cluster.drop()
    }

    private func jump(_ cluster: KillableCluster) async throws {
        let url = try await cluster.url()
        let database = Database(
            configuration: try PostgresConfiguration(url: url),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let settings = ["ERRAND_QUEUES": "default=20"]
        let sleeper = try Program(["worker"], database: url, settings: settings)
        defer { sleeper.send(SIGKILL) }
        try await database.enqueueSleepers(5, milliseconds: 3000)
        let running = "from errand.job where state = 'running'"
        #expect(try await database.becomes("count(*) = 5 \(running)", within: .seconds(30)))
        sleeper.send(SIGSTOP)
        let worker = try Program(["worker"], database: url, settings: settings)
        defer { worker.send(SIGKILL) }
        // Longer than a lost worker is looked for.
        try await database.enqueueSleepers(10, milliseconds: 20_000)
        #expect(try await database.becomes("count(*) = 15 \(running)", within: .seconds(30)))
        try await database.execute(
            """
            select count(*)
            from generate_series(31, 80) as minute,
                errand.enqueue('noop', run_at => now() + minute * interval '1 minute')
            """)

        let before = try await database.query("select clock_timestamp()").scalar(Timestamp.self)
        try await FakeClock.set(.seconds(3600), of: cluster)
        let start = ContinuousClock.now
        let jumped = try await database.query("select clock_timestamp()").scalar(Timestamp.self)
        #expect(jumped - before > .seconds(3590))
        #expect(try await database.becomes("count(*) >= 30 from errand.history", within: .seconds(30)))
        let due = ContinuousClock.now - start
        #expect(
            try await database.becomes(
                "count(*) = 5 from errand.job where attempt > 1 or attempts is not null", within: .seconds(30)))
        let rescued = ContinuousClock.now - start
        #expect(
            try await database.becomes(
                "not exists (select from errand.job where state <> 'scheduled')", within: .seconds(60)))
        #expect(try await database.count("from errand.job") == 20, "those are not due yet")
        #expect(try await worker.writes(Self.warning))

        try await FakeClock.set(.seconds(7200), of: cluster)
        #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(30)))
        let all = "select jsonb_agg(to_jsonb(h) order by id)::text from errand.history as h"
        let ended = try await database.query(Statement(all)).scalar(String.self)
        sleeper.send(SIGCONT)
        #expect(try await sleeper.writes("lease lost"))
        for program in [sleeper, worker] {
            program.send(SIGTERM)
            #expect(try await program.exit() == 0)
        }
        #expect(try await database.query(Statement(all)).scalar(String.self) == ended, "nothing stale is written")
        let (jobs, distinct, starts) = try await database.query(
            "select count(*), count(distinct id), sum(attempt) from errand.history where state = 'succeeded'"
        )[0].decode(Int.self, Int.self, Int.self)
        print(
            "F31: \(jobs) jobs, \(starts) starts, of 15 running at the jump; 30 due ones ended \(due) and the stopped "
                + "worker's were rescued \(rescued) after it")
        #expect(jobs == 65 && distinct == 65)
        #expect(starts == 70, "only the stopped worker's jobs begin again")
        #expect(try await database.count("from errand.history where started_at < run_at - interval '100 ms'") == 0)
        #expect(try await database.count("from errand.failed") == 0)
        #expect(!worker.output.contains("lease lost"))
        await database.close()
    }

    /// 20 jobs that outlive a lease, 50 that become due soon, 10 that may begin within half an hour only, 50 that
    /// become due within the next two days, one that fails and is due again within minutes, and one each second.
    private func enqueue(on database: Database) async throws {
        try await database.enqueueSleepers(20, milliseconds: 12_000)
        for statement in [
            """
            select count(*)
            from generate_series(1, 50) as number,
                errand.enqueue(
                    'noop', run_at => now() + interval '1 second' + number * interval '100 ms', tags => '{soon}')
            """,
            """
            select errand.enqueue('noop', not_after => now() + interval '30 minutes')
            from generate_series(1, 10)
            """,
            """
            select count(*)
            from generate_series(1, 50) as number,
                errand.enqueue(
                    'noop', run_at => now() + number * interval '1 hour' - interval '30 minutes', tags => '{later}')
            """,
            """
            select errand.enqueue('noop', '{"fail": "transient"}', tags => '{again}')
            """,
            """
            select errand.put_schedule('each_second', 'every 1 s', 'noop', missed => 'all', queue => 'ticks')
            """,
        ] { try await database.execute(Statement(statement)) }
    }

    private func expectOnTime(since start: String, on database: Database, offset: String) async throws {
        #expect(try await database.count("from errand.history where state <> 'succeeded' or attempt > 1") == 0)
        // A start is recorded with the time when the claim's transaction began, which may see a job of a moment later.
        #expect(
            try await database.count("from errand.history where started_at < run_at - interval '100 ms'") == 0,
            "none begins early")
        // A wrong clock would make it an hour or a day.
        let late = try await database.query(
            """
            select coalesce(max(extract(epoch from started_at - run_at)) filter (where queue = 'ticks'), 99)::float8,
                max(extract(epoch from started_at - run_at)) filter (where tags @> '{soon}')::float8
            from errand.history
            """)[0].decode(Double.self, Double.self)
        print("F30 \(offset): ticks at most \(late.0) s late, other jobs \(late.1) s")
        #expect(late.0 < 2 && late.1 < 2)
        #expect(
            try await database.count(
                "from errand.job where state = 'scheduled' and attempt = 0 and tags @> '{later}'") == 50)
        #expect(
            try await database.count(
                "from errand.job where attempt > 0 and tags @> '{again}' and run_at < now() + interval '10 minutes'")
                == 1)
        // All recorded times are the database's.
        let isWrong = "not (time between '\(start)'::timestamptz - interval '2 minutes' and clock_timestamp())"
        for (table, columns) in [
            ("history", "created_at, started_at, finished_at"), ("worker", "started_at, heartbeat_at"),
            ("tick", "enqueued_at"), ("schedule", "last_tick"),
        ] {
            #expect(
                try await database.count(
                    "from errand.\(table), unnest(array[\(columns)]) as time where \(isWrong)") == 0, "\(table)")
        }
        // One tick for each second, none missing, none ahead.
        let (ticks, seconds) = try await database.query(
            """
            select count(*), extract(epoch from max(tick) - min(tick))::int8 + 1
            from errand.tick
            where schedule = 'each_second'
            """)[0].decode(Int.self, Int.self)
        #expect(ticks == seconds && ticks >= 10)
    }

    private static func seconds(_ offset: String) -> Double {
        (Double(offset.dropLast()) ?? 0) * (offset.hasSuffix("d") ? 86_400 : 3_600)
    }

    /// How many seconds ahead the times in a program's log are.
    private static func ahead(_ program: Program) throws -> Double {
        let line = try #require(program.output.split(separator: " ").first)
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return try style.parse(String(line)).timeIntervalSinceNow
    }
}
