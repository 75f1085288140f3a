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
            try await database.execute(
                Statement("update errand.worker set heartbeat_at = now() - interval '1 hour' where id = $1", [lost.id]))
            let gate = try await database.makeConnection()
            try await gate.execute("select pg_advisory_lock(4711)")
            async let rescued = database.query("select rescued from errand.rescue_v1()").scalar(Int.self)
            #expect(
                try await database.becomes("exists (select from pg_locks where locktype = 'advisory' and not granted)"))
            // Meanwhile the lost worker releases the jobs without row locks, and a new worker claims them.
            try await lost.end(jobs.suffix(50), .released)
            let new = try await ManualWorker(database)
            let claimed = try await new.claim(50)
            #expect(Set(claimed.map(\.id)) == Set(jobs.suffix(50).map(\.id)))
            try await gate.execute("select pg_advisory_unlock(4711)")
            #expect(try await rescued == 150)
            #expect(try await new.end(claimed) == [])
            await gate.close()
        }
    }
}
