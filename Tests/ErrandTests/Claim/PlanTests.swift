import ErrandTestKit
import Postgres
import Testing

@testable import Errand

/// After a VACUUM of a queue that was nearly empty the planner takes an index of millions of dead entries for as short
/// as the table: errand_internal.finish_v1 says more.
@Suite("Plans") struct PlanTests {
    @Test("a worker's jobs are found by their ids, never by a read of the whole queue", arguments: [1, 5])
    func byID(waiting: Int) async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 2000))
            let worker = try await ManualWorker(database)
            let jobs = try await worker.claim(waiting)
            try await database.execute("delete from errand.job where state = 'available'")
            try await database.execute("update errand.claim set claimed_at = claimed_at - interval '1 minute'")
            try await database.execute("vacuum analyze errand.job")
            let ways: KeyValuePairs<String, [Statement]> = [
                "succeeded": completing(jobs),
                "succeeded with an output": completing(jobs, output: JSONB("1")),
                "committed by its handler": [
                    Completion.succeeded(jobs[0]).commitStatement
                ],
                "held": [
                    Statement("select errand_internal.revoked_jobs_v1($1, $2)", [jobs.map(\.id), jobs.map(\.position)])
                ],
                "unheld": [
                    Statement(
                        "select errand_internal.unlisted_jobs_v1($1, 1, '{}', '{}', $2)",
                        [worker.id, [jobs[0].position]])
                ],
            ]
            for (way, statements) in ways {
                // Rolled back, for the next one.
                await #expect(throws: Undo.self, "\(way)") {
                    try await database.transaction { transaction in
                        let before = try await transaction.scans()
                        for statement in statements { _ = try await transaction.query(statement) }
                        let after = try await transaction.scans()
                        #expect(after.byID > before.byID, "\(way)")
                        #expect(after.byPosition == before.byPosition, "\(way)")
                        throw Undo()
                    }
                }
            }
        }
    }

    @Test("what a worker held is found without a read of what waits")
    func blocked() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.enqueue_payloads_v1('noop', array_fill('{}'::jsonb, array[1000])) from generate_series(1, 20)"
            )
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(20).count == 20)
            try await database.execute("analyze errand.job")
            try await database.execute(.silencesWorkers())
            let pages = try await database.query("select pg_relation_size('errand.job') / 8192").scalar(Int64.self)
            #expect(pages > 400)
            let blocks: Statement = "select pg_stat_get_xact_blocks_fetched('errand.job'::regclass)"
            for call in [
                "errand_internal.rescue()",
                "errand_internal.leave_v1((select min(worker_id) from errand.claim), true)",
                "errand.release_worker((select min(worker_id) from errand.claim), 'test', force => true)",
            ] {
                // Rolled back, for the next one.
                await #expect(throws: Undo.self, "\(call)") {
                    try await database.transaction { transaction in
                        let before = try await transaction.query(blocks).scalar(Int64.self)
                        try await transaction.execute(Statement("select \(call)"))
                        let read = try await transaction.query(blocks).scalar(Int64.self) - before
                        let left = """
                            select
                                count(*) filter (where state = 'available') = 20000
                                    and not exists (select from errand.claim)
                            from errand.job
                            """
                        #expect(try await transaction.query(Statement(left)).scalar(Bool.self), "\(call)")
                        // Twenty jobs, each read and written a few times.
                        #expect(read < 1000, "\(call): \(read) blocks")
                        throw Undo()
                    }
                }
            }
        }
    }

    private struct Undo: Error {}

    @Test("no function that forbids plans starts the JIT compiler, which takes 100 ms of each session")
    func compilesNothing() async throws {
        try await withTestDatabase { database, _ in
            let names = try await database.query(
                """
                select oid::regprocedure::text
                from pg_proc
                where pronamespace = any (errand_internal.namespaces())
                    and exists (select from unnest(proconfig) as setting where setting like 'enable\\_%=off')
                    and 'jit=off' <> all (proconfig)
                """
            ).column(0, as: String.self)
            #expect(names == [])
        }
    }

    private func completing(_ jobs: [ClaimedJob], output: JSONB? = nil) -> [Statement] {
        Completion.statements(for: jobs.map { .succeeded($0, output: output) })
    }
}

extension Transaction {
    /// This session's count of scans per index.
    fileprivate nonisolated func scans() async throws -> (byID: Int64, byPosition: Int64) {
        try await query(
            """
            select
                pg_stat_get_xact_numscans('errand.job_pkey'::regclass),
                pg_stat_get_xact_numscans('errand.job_position_index'::regclass)
            """)[0].decode(Int64.self, Int64.self)
    }
}
