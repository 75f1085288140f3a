import ErrandTestKit
import Foundation
import Postgres
import Testing

/// The worker is behind PgBouncer in transaction mode. Its sessions have no timeouts of the server, because PgBouncer
/// refuses `options`: the client's deadline of 10 s ends a call.
@Suite(
    "A pooler that restarts, pauses or has no free connection", .serialized,
    .enabled(if: Hardness.isFull, "each fault lasts longer than a client's deadline"))
struct PoolerFaultTests {
    private let poolSize = 8
    private let settings = ["ERRAND_QUEUES": "default=10"]
    /// Ten at a time, they last longer than a fault.
    private let jobs = 600

    /// Runs `body` while the worker runs jobs behind the pooler.
    private func withPooledWorker(
        _ settings: [String: String]? = nil, _ body: (Bouncer, Program, Database) async throws -> Void
    ) async throws {
        try await withOwnServer { _, database in
            let bouncer = try await Bouncer(before: database, mode: "transaction", poolSize: poolSize)
            defer { bouncer.stop() }
            try await database.enqueueSleepers(jobs, milliseconds: 200)
            let worker = try Program(["worker"], database: bouncer.url, settings: settings ?? self.settings)
            #expect(try await database.becomes("count(*) > 20 from errand.history", within: .seconds(30)))
            try await body(bouncer, worker, database)
            try await worker.expectToStop()
        }
    }

    /// Expects that the worker claims a job within 2 s after `moment`.
    private func expectClaim(after moment: String, _ database: Database, _ fault: String) async throws {
        let seconds = try #require(try await database.secondsToClaim(after: moment))
        print("\(fault): the first claim after \(seconds) s")
        #expect(seconds <= 2)
    }

    @Test("F18: a pooler that is killed three times loses no job, and none runs twice")
    func restarted() async throws {
        try await withPooledWorker { bouncer, worker, database in
            for round in 1...3 {
                try bouncer.kill()
                try await Task.sleep(for: .seconds(1))
                try await bouncer.start()
                let moment = try await database.now()
                let before = try await database.count("from errand.history")
                #expect(
                    try await database.becomes("count(*) > \(before + 30) from errand.history", within: .seconds(30)))
                try await expectClaim(after: moment, database, "pooler killed, round \(round)")
            }
            try await database.expectEachRunsOnce(jobs, within: .seconds(60))
            #expect(worker.lines(with: "claiming is interrupted") >= 3)
        }
    }

    @Test("F18: PAUSE for 15 s, longer than a client's deadline, loses no job, and none runs twice")
    func paused() async throws {
        try await withPooledWorker { bouncer, worker, database in
            try await pause(bouncer, for: .seconds(15))
            let moment = try await database.now()
            try await database.expectEachRunsOnce(jobs, within: .seconds(60))
            try await expectClaim(after: moment, database, "PAUSE")
            #expect(worker.output.contains("heartbeat failed"))
        }
    }

    @Test("F18: PAUSE for 15 s, longer than the lease of the workers, loses no job, and each ends once")
    func pausedBeyondLease() async throws {
        let settings = settings.merging(["ERRAND_LEASE": "4s", "ERRAND_HEARTBEAT_INTERVAL": "1s"]) { _, new in new }
        try await withPooledWorker(settings) { bouncer, _, database in
            // It reaches the server: it may rescue the jobs of the other one.
            let direct = try Program(
                ["worker"], database: try await directURL(database),
                settings: settings.merging(["ERRAND_QUEUES": "default=1"]) { _, new in new })
            #expect(try await database.becomes("count(*) = 2 from errand.worker", within: .seconds(30)))
            try await pause(bouncer, for: .seconds(15))
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            let twice = try await database.count("from errand.history where attempt > 1")
            print("PAUSE beyond the lease: \(twice) jobs of the silent worker ran twice")
            #expect(try await database.count("from errand.history where state = 'succeeded'") == jobs)
            #expect(try await database.count("from (select distinct id from errand.history) as one") == jobs)
            // Those that were running, and those that were prefetched.
            #expect(twice > 0 && twice <= 20)
            try await direct.expectToStop()
        }
    }

    @Test("F18: sessions that hold all connections of the pool for 15 s lose no job, and none runs twice")
    func exhausted() async throws {
        try await withPooledWorker { bouncer, worker, database in
            let pooled = Database(configuration: bouncer.configuration, maximumConnections: 1)
            var holders: [Connection] = []
            for _ in 0..<poolSize {
                let holder = try await pooled.makeConnection()
                try await holder.execute("begin")
                holders.append(holder)
            }
            try await Task.sleep(for: .seconds(15))
            for holder in holders { await holder.close() }
            let moment = try await database.now()
            try await database.expectEachRunsOnce(jobs, within: .seconds(60))
            try await expectClaim(after: moment, database, "pool exhausted")
            #expect(worker.output.contains("heartbeat failed"))
            await pooled.close()
        }
    }

    /// PAUSE waits until no transaction is open.
    private func pause(_ bouncer: Bouncer, for span: Duration) async throws {
        try await shell("psql -X -q '\(bouncer.console)' -c pause")
        try await Task.sleep(for: span)
        try await shell("psql -X -q '\(bouncer.console)' -c resume")
    }

    private func directURL(_ database: Database) async throws -> String {
        let folder = try await database.query("select current_setting('unix_socket_directories')").scalar(String.self)
        return "postgresql:///errand?host=\(folder)&port=5432&user=postgres"
    }
}
