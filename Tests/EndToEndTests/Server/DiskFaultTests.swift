import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite(
    "A full disk of the database", .serialized,
    .enabled(if: Hardness.isFull, "it waits for longer than a lease, for which `make test` has no time"),
    .enabled(if: SmallDisk.isPossible, "only root can mount a small disk"))
struct DiskFaultTests {
    private let settings = ["ERRAND_QUEUES": "default=20"]
    /// Longer than a lease, which is 20 s.
    private let outage: Duration = .seconds(25)

    @Test(
        "no room for tables: nothing that was acknowledged is lost or runs twice, and 10 s after there is room all runs"
    )
    func tables() async throws {
        try await SmallDisk.with(.tables, megabytes: 200) { disk in
            let database = disk.database
            let worker = try Program(["worker"], database: disk.url, settings: settings)
            defer { worker.send(SIGKILL) }
            var jobs = EnqueuedJobs()
            for _ in 0..<400 { await jobs.enqueue(on: database, milliseconds: 600) }
            #expect(try await database.becomes("count(*) >= 60 from errand.history", within: .seconds(60)))
            try await disk.fill()
            let full = ContinuousClock.now
            while ContinuousClock.now - full < outage {
                // What vacuum gives back is taken at once.
                try await disk.fill()
                for _ in 0..<5 { await jobs.enqueue(on: database, milliseconds: 0) }
                try await Task.sleep(for: .milliseconds(500))
            }
            #expect(jobs.refused.keys.sorted() == ["53100"], "\(jobs.refused)")
            #expect(jobs.unknown == 0)
            // The outcomes of jobs that have ended meanwhile have no room either.
            let running = try await database.count("from errand.job where state = 'running'")
            #expect(running > 0)
            #expect(worker.output.contains("[53100]"))

            try disk.empty()
            let freed = ContinuousClock.now
            var last: Int64?
            while last == nil, ContinuousClock.now - freed < .seconds(10) {
                last = await jobs.enqueue(on: database, milliseconds: 0, priority: 1)
            }
            let id = try #require(last)
            #expect(
                try await database.becomes("exists (select from errand.history where id = \(id))", within: .seconds(60))
            )
            let normal = ContinuousClock.now - freed
            #expect(normal <= .seconds(10))
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            let drained = ContinuousClock.now - freed
            print(
                "F19: \(jobs.refused) of \(jobs.acknowledged.count + (jobs.refused["53100"] ?? 0)) jobs refused, "
                    + "\(running) outcomes waited; normal \(normal) and drained \(drained) after there was room")
            try await jobs.expectOnceEach(on: database)
            try await expectHealthy(worker)
        }
    }

    @Test("no room for WAL, so that the server panics again and again: the same, and jobs begin 2 s after it is ready")
    func wal() async throws {
        try await SmallDisk.with(.wal, megabytes: 128) { disk in
            let database = disk.database
            let worker = try Program(["worker"], database: disk.url, settings: settings)
            defer { worker.send(SIGKILL) }
            var jobs = EnqueuedJobs()
            var starts = 0
            var first: [Double] = []
            for outage in [Duration.zero, outage, .seconds(3)] {
                for _ in 0..<100 { await jobs.enqueue(on: database, milliseconds: 600) }
                #expect(
                    try await database.becomes(
                        "count(*) = 20 from errand.job where state = 'running'", within: .seconds(60)))
                let panics = try disk.logged("PANIC:")
                try await disk.fill()
                let full = ContinuousClock.now
                while try disk.logged("PANIC:") == panics, ContinuousClock.now - full < .seconds(30) {
                    // Each call ends a segment, so the prepared ones are soon used up.
                    _ = try? await database.query("select pg_switch_wal()")
                    await jobs.enqueue(on: database, milliseconds: 0)
                }
                #expect(try disk.logged("PANIC:") > panics)
                // Like a supervisor.
                let down = ContinuousClock.now
                repeat {
                    starts += 1
                    try? await disk.cluster.start()
                    await jobs.enqueue(on: database, milliseconds: 0)
                    try await Task.sleep(for: .milliseconds(500))
                } while ContinuousClock.now - down < outage

                let before = try disk.logged(Self.ready)
                try disk.empty()
                while try disk.logged(Self.ready) == before, ContinuousClock.now - down < outage + .seconds(30) {
                    try? await disk.cluster.start()
                }
                first.append(try await firstStart(on: disk))
                #expect(
                    try await database.becomes(
                        despiteFaults: "not exists (select from errand.job)", within: .seconds(60)))
            }
            print(
                "F20: \(try disk.logged("PANIC:")) panics, \(starts) starts without room; \(jobs.acknowledged.count) jobs "
                    + "acknowledged, \(jobs.unknown) unknown, refused \(jobs.refused); first start after ready: \(first)"
            )
            #expect(first.allSatisfy { $0 <= 2 }, "\(first)")
            try await jobs.expectOnceEach(on: database)
            try await expectHealthy(worker)
        }
    }

    private static let ready = "database system is ready to accept connections"

    /// The seconds from when the server was last ready until it recorded the start of a job.
    private func firstStart(on disk: SmallDisk) async throws -> Double {
        let line = try #require(try disk.lines(with: Self.ready).last)
        // `2026-11-26 11:43:14.934 UTC [18763] LOG:  …`
        let ready = line.split(separator: " ").prefix(3).joined(separator: " ")
        let starts = "select started_at from errand.job union all select started_at from errand.history"
        let isAfter = "started_at >= '\(ready)'::timestamptz"
        #expect(
            try await disk.database.becomes(
                despiteFaults: "exists (select from (\(starts)) as job where \(isAfter))", within: .seconds(30)))
        return try await disk.database.query(
            Statement(
                """
                select extract(epoch from min(started_at) - '\(ready)'::timestamptz)::float8
                from (\(starts)) as job
                where \(isAfter)
                """)
        ).scalar(Double.self)
    }

    /// Expects that the worker has lived through it with its lease, and ends when asked to.
    private func expectHealthy(_ worker: Program) async throws {
        #expect(worker.isRunning)
        #expect(!worker.output.contains("lease lost"), "\(worker.output)")
        #expect(!worker.output.contains("workers were lost"), "\(worker.output)")
        worker.send(SIGTERM)
        #expect(try await worker.exit() == 0)
    }
}
