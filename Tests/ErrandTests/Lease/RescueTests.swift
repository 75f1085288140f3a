import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Jobs of lost workers") struct RescueTests {
    @Test(
        "a job that another worker has claimed since the rescue began is not taken from it",
        .enabled(if: !TestServer.isPooled, "behind a pooler in transaction mode a lock of a session is anybody's"))
    func changesHands() async throws {
        try await withTestDatabase(connections: 8) { database, _ in
            // Rescue reads a few rows at a time, and waits at its first write for the lock that the test holds.
            for setup: Statement in [
                """
                create function public.waits() returns trigger language plpgsql as $$
                begin
                    perform pg_advisory_xact_lock_shared(4711);
                    return new;
                end
                $$
                """,
                """
                create trigger waits before update on errand.job
                for each row when (new.crashes > old.crashes) execute function public.waits()
                """,
            ] {
                try await database.execute(setup)
            }
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 200))
            let lost = try await ManualWorker(database)
            let jobs = try await lost.claim(200).sorted { $0.id < $1.id }
            #expect(jobs.count == 200)
            try await database.execute(.silencesWorkers(where: "id = $1", [lost.id]))
            let gate = try await database.makeConnection()
            try await gate.execute("select pg_advisory_lock(4711)")
            async let rescued = database.query("select rescued from errand_internal.rescue()").scalar(Int.self)
            #expect(
                try await database.becomes("exists (select from pg_locks where locktype = 'advisory' and not granted)"))
            // Meanwhile the lost worker releases the jobs without row locks, and a new worker claims them.
            try await lost.end(jobs.suffix(50), as: { .released($0) })
            let new = try await ManualWorker(database)
            let claimed = try await new.claim(50)
            #expect(Set(claimed.map(\.id)) == Set(jobs.suffix(50).map(\.id)))
            try await gate.execute("select pg_advisory_unlock(4711)")
            #expect(try await rescued == 150)
            #expect(try await new.end(claimed) == [])
            await gate.close()
        }
    }

    @Test("a live worker keeps its jobs after an outage of the server, however long, whichever session rescues")
    func outage() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await busyWorker(database)
            for outage in [61, 90, 3600] {
                #expect(try await check(worker, after: outage) == 0)
                // Its next heartbeat comes before the second check.
                try await database.execute(
                    Statement("select errand_internal.heartbeat_v1(array[$1::int8], 1, '{}', null)", [worker.id]))
                #expect(try await check(worker, after: 23) == 0)
            }
            #expect(try await database.count("from errand.job where state = 'running' and crashes = 0") == 1)
        }
    }

    @Test("a silent worker is lost by two checks, 1.5 to 3 heartbeats apart, the second after its lease")
    func checks() async throws {
        try await withTestDatabase { database, _ in
            // A lease of 60 s, a heartbeat of 15 s: the seconds before each check, of which the last one finds it lost.
            for gaps in [
                [40, 30], [45, 13, 5, 6], [25, 40, 30], [3600, 0, 20, 6], [3600, 40], [3600, 46, 30],
                [40, 46, 3600, 30],
            ] {
                let worker = try await busyWorker(database)
                for gap in gaps.dropLast() { #expect(try await check(worker, after: gap) == 0, "\(gaps)") }
                #expect(try await check(worker, after: gaps.last ?? 0) == 1, "\(gaps)")
                #expect(try await database.count("from errand.job where state = 'available' and crashes = 1") == 1)
                try await database.execute("delete from errand.job")
            }
        }
    }

    @Test("the next call comes when it may find a silent worker lost")
    func nextCheck() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await busyWorker(database)
            /// In seconds.
            func nextCheck(after seconds: Int) async throws -> Int64? {
                try await shift(worker, by: seconds)
                try await database.execute("select errand_internal.rescue()")
                return try await database.query(
                    "select extract(epoch from errand_internal.rescue_wait())::int8"
                ).scalar(Int64?.self)
            }
            #expect(try await nextCheck(after: 15) == nil)
            // The lease ends later than 1.5 heartbeats after the first check.
            #expect((24...25).contains(try await nextCheck(after: 20) ?? 0))
            #expect((12...15).contains(try await nextCheck(after: 10) ?? 0))
            try await database.execute(
                Statement("select errand_internal.heartbeat_v1(array[$1::int8], 1, '{}', null)", [worker.id]))
            #expect(try await nextCheck(after: 0) == nil)
            #expect(try await nextCheck(after: 3600) == 22)
        }
    }

    @Test("a loss counts as a crash, but not after an outage: a start of the server, or checks that came too late")
    func crashOrOutage() async throws {
        try await withTestDatabase { database, _ in
            let other = try await ManualWorker(database)
            let grownOld = "update errand.worker set started_at = started_at - interval '1 day' where id = \(other.id)"
            let restart = "update errand.worker set server_start = 'before' where id <> \(other.id)"
            for (gaps, setup, crashes) in [
                // Another worker that lives shows an outage only if it was there before.
                ([40, 23], grownOld, 1), ([3600, 23], "select", 1), ([3600, 23], grownOld, 0), ([40, 23], restart, 0),
            ] {
                let worker = try await busyWorker(database)
                try await database.execute(Statement(setup))
                for gap in gaps { _ = try await check(worker, after: gap) }
                let job = "from errand.job where state = 'available' and attempt = 1 and crashes = \(crashes)"
                #expect(try await database.count(job) == 1, "\(gaps), \(setup)")
                try await database.execute("delete from errand.job")
                try await database.execute(
                    Statement("update errand.worker set started_at = now() where id = $1", [other.id]))
            }
        }
    }

    /// A worker that runs a job.
    private func busyWorker(_ database: Database) async throws -> ManualWorker {
        let worker = try await ManualWorker(database)
        try await Queue(database: database).enqueue(Noop())
        #expect(try await worker.claim(1).count == 1)
        return worker
    }

    /// Makes time pass for one worker.
    private func shift(_ worker: ManualWorker, by seconds: Int) async throws {
        try await worker.database.execute(
            Statement(
                """
                update errand.worker
                set heartbeat_at = heartbeat_at - $1 * interval '1 second',
                    missed_at = missed_at - $1 * interval '1 second'
                where id = $2
                """, [seconds, worker.id]))
    }

    /// Rescues by a new session. Returns how many workers were lost.
    private func check(_ worker: ManualWorker, after seconds: Int) async throws -> Int {
        try await shift(worker, by: seconds)
        let session = try await worker.database.makeConnection()
        let lost = try await session.query("select lost_workers from errand_internal.rescue()").scalar(Int.self)
        await session.close()
        return lost
    }
}
