import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Unique keys, side by side") struct UniqueRaceTests {
    @Test("merges beside claims, completions and retries lose no element, and each is done once")
    func mergesLoseNothing() async throws {
        try await withTestDatabase(connections: 6) { database, _ in
            let sessions = 3
            let each = Hardness.isFull ? 400 : 40
            let done = Shared<[Int]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in 0..<sessions {
                    group.addTask {
                        for number in 0..<each {
                            try await database.execute(
                                Statement(
                                    """
                                    select errand.enqueue(
                                        'noop', $1, unique_key => 'k' || $2::int % 2, on_conflict => 'merge')
                                    """, [JSONB("[\(session * each + number)]"), number]))
                        }
                    }
                }
                for session in 0..<2 {
                    group.addTask {
                        let worker = try await ManualWorker(database)
                        var round = session
                        while done.with({ $0.count }) < sessions * each {
                            round += 1
                            let jobs = try await worker.claim(2)
                            if round % 3 == 0 {
                                try await worker.end(jobs) { .retried($0, error: "x", after: .zero) }
                            } else {
                                let refused = try await worker.end(jobs)
                                for job in jobs where !refused.contains(job.id) {
                                    let elements = try await database.query(
                                        Statement(
                                            "select array_agg(e::bigint) from errand.jobs, jsonb_array_elements(payload) as e "
                                                + "where id = $1", [job.id])
                                    ).scalar([Int64].self)
                                    done.with { $0 += elements.map(Int.init) }
                                }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(done.with { $0.sorted() } == Array(0..<sessions * each))
        }
    }

    @Test("of jobs that supersede each other, whatever runs meanwhile, the last one alone completes")
    func supersedes() async throws {
        try await withTestDatabase(connections: 6) { database, _ in
            let queue = Queue(database: database)
            let each = Hardness.isFull ? 200 : 25
            let isOver = Shared(false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let worker = try await ManualWorker(database)
                    while !isOver.with({ $0 }) { _ = try await worker.claim(5) }
                }
                try await withThrowingTaskGroup(of: Void.self) { callers in
                    for _ in 0..<4 {
                        callers.addTask {
                            for _ in 0..<each {
                                try await queue.enqueue(Noop(), .unique("k", onConflict: .supersede))
                            }
                        }
                    }
                    try await callers.waitForAll()
                }
                isOver.with { $0 = true }
                try await group.waitForAll()
            }
            #expect(try await database.count("from errand.job") == 1)
            #expect(try await database.count("from errand.history where state <> 'cancelled'") == 0)
            let reasons = "from errand.history where reason not like 'superseded by job %'"
            #expect(try await database.count(reasons) == 0)
        }
    }

    @Test("bulk enqueues with overlapping keys in any order wait for each other in turn, and a key has one job")
    func bulk() async throws {
        try await withTestDatabase(connections: 6) { database, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in 0..<5 {
                    group.addTask {
                        for _ in 0..<(Hardness.isFull ? 50 : 8) {
                            let statement =
                                session == 0
                                ? "select errand.cancel(array(select id from errand.job order by random() limit 5), 'x')"
                                : """
                                select count(*) from errand.enqueue_many((
                                    select jsonb_agg(jsonb_build_object(
                                        'kind', 'noop', 'unique_key', 'k' || n, 'unique_for', '1 hour') order by random())
                                    from generate_series(1, 20) as n))
                                """
                            try await database.execute(Statement(statement))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.count("from errand.unique_period") <= 20)
            let wrong = """
                from errand.job
                where not exists (
                    select from errand.unique_period as period
                    where period.unique_key = job.unique_key and period.job_id = job.id)
                """
            #expect(try await database.count(wrong) == 0)
        }
    }

    @Test("refused enqueues are counted by kind and reason, and health names a kind most of whose insert nothing")
    func counted() async throws {
        try await withTestDatabase { database, _ in
            let health = "select ok, detail from errand.health() where check_name = 'enqueues'"
            try await database.execute("select errand.enqueue('noop', unique_key => 'k') from generate_series(1, 100)")
            try await database.execute(
                #"select errand.enqueue_many('[{"kind": "noop", "unique_key": "k"}, {"kind": "noop"}]')"#)
            try await database.execute("select errand.enqueue('noop', unique_key => 'k', on_conflict => 'replace')")
            let counts = "select reason, enqueues from errand.refused_enqueues order by reason"
            #expect(try await database.text(counts) == "replaced|1\nunique|100")
            #expect(
                try await database.text(health)
                    == "false|inserted nothing within 5 minutes: noop 100 times, beside 2 jobs")
            try await database.execute("update errand.refused_enqueue set refused_at = refused_at - interval '2 hours'")
            try await database.execute("select errand_internal.merge_refused()")
            try await database.execute("select errand_internal.merge_refused()")
            #expect(try await database.count("from errand.refused_enqueue") == 0)
            #expect(try await database.text(counts) == "replaced|1\nunique|100")
            #expect(try await database.text(health) == "true|of no kind most insert nothing")
            let samples = "select sum(value) from errand.metrics() where name = 'errand_enqueues_refused_total'"
            #expect(try await database.text(samples) == "101")
        }
    }
}
