import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Slots of limits") struct SlotTests {
    /// A worker that registers no kinds may claim no jobs.
    private static let noop = #"[{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2}]"#

    @Test("a job that waits in the queue for long is followed by no other one, and 12 jobs run in their order")
    func waits() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let ids = try await Queue(database: database).enqueue(
                all: [Noop](repeating: Noop(), count: 12), .limited(by: "a"))
            let worker = try await ManualWorker(database, kinds: Self.noop)
            var order: [Int64] = []
            for _ in ids {
                let jobs = try await worker.claim(10)
                order += jobs.map(\.id)
                try await worker.end(jobs)
                // A minute of waiting jobs is ahead of the next one.
                try await database.execute("update errand.limit_slot set admitted_at = now() - interval '1 min'")
                for _ in 1...3 { try await database.promote() }
                #expect(try await database.count("from errand.job where state = 'available'") <= 1)
            }
            #expect(order == ids)
        }
    }

    @Test(
        "the slot of a job that vanishes from the queue is free again",
        arguments: [
            "select errand.cancel(array(select id from errand.job where state = 'available'), 'test')",
            "delete from errand.job where state = 'available'",
            "select errand.reschedule(array(select id from errand.job where state = 'available'), run_at => now() + interval '1 day')",
            """
            with opened as materialized (select errand.circuit_open('x', 'test'))
            update errand.job set state = 'parked', queue_position = null, parked_for = 'circuit:x'
            from opened
            where state = 'available'
            """,
        ])
    func vanishes(how: String) async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            for _ in 1...3 { try await Queue(database: database).enqueue(Noop(), .limited(by: "a")) }
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await worker.end(worker.claim(10))
            #expect(try await database.word("select array_agg(id) from errand.job where state = 'available'") == "{2}")
            try await database.execute(Statement(how))
            try await database.promote()
            #expect(try await worker.claim(10).map(\.id) == [3])
        }
    }

    @Test("a limit that is lowered holds for jobs that have a slot and wait in the queue")
    func lowered() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 3)")
            try await Queue(database: database).enqueue(
                all: [Noop](repeating: Noop(), count: 9), .limited(by: "a"))
            let worker = try await ManualWorker(database, kinds: Self.noop)
            var running = try await worker.claim(10)
            try await worker.end(running)
            #expect(try await database.count("from errand.job where state = 'available'") == 3)
            try await database.execute("select errand.set_limit('a', 1)")
            var ended = 3
            while ended < 9 {
                running = try await worker.claim(10)
                #expect(running.count == 1)
                if running.isEmpty { break }
                ended += running.count
                try await worker.end(running)
            }
            #expect(try await database.count("from errand.history") == 9)
            #expect(try await database.count("from errand.limit_slot") == 1)
        }
    }

    @Test("jobs under a key without a limit have no slots, and count once it gets one, though their claim is under way")
    func unlimited() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            for _ in 1...100 {
                try await queue.enqueue(all: [Noop](repeating: Noop(), count: 5), .limited(by: "a"))
                try await worker.end(worker.claim(5))
            }
            #expect(try await database.count("from errand.limit_slot") == 0)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 5), .limited(by: "a"))
            let claim = worker.claiming(2)
            let running = try await database.transaction { transaction in
                let running = try claim.reply(await transaction.query(claim.statement)).jobs
                try await database.execute("select errand.set_limit('a', 3)")
                #expect(try await worker.claim(10).isEmpty)
                return running
            }
            for _ in 1...2 { try await database.promote() }
            #expect(try await worker.claim(10).count == 1)
            #expect(try await worker.end(running) == [])
            #expect(try await worker.claim(10).count == 2)
        }
    }

    @Test("a claim looks once for the limit of a key that has none, however many jobs it takes, and takes no lock")
    func unlimitedBesideLimit() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let worker = try await ManualWorker(database, kinds: Self.noop)
            let queue = Queue(database: database)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 40), .limited(by: "b"))
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 40), .limited(by: "c"))
            let claim = worker.claiming(80)
            try await database.transaction { transaction in
                try await transaction.execute("set local track_functions = 'pl'")
                #expect(try claim.reply(await transaction.query(claim.statement)).jobs.count == 80)
                let calls = try await transaction.query(
                    """
                    select coalesce(sum(calls) filter (where funcname = 'bound_of'), 0)::int8,
                        coalesce(sum(calls) filter (where funcname in ('lock_limits', 'take_slots')), 0)::int8
                    from pg_stat_xact_user_functions
                    where schemaname = 'errand_internal'
                    """)
                #expect(try calls[0].decode(Int.self, Int.self) == (2, 0))
            }
        }
    }

    @Test("8,000 jobs under as many limits are enqueued in one call, which compares no job with each limit")
    func manyKeys() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('k/*', 1)")
            try await database.transaction { transaction in
                // 0.6 s on two idle cores; 13 s if each job is compared with each key.
                try await transaction.execute("set local statement_timeout = '10s'")
                try await transaction.execute(
                    """
                    select count(*) from errand.enqueue_many((
                        select jsonb_agg(jsonb_build_object('kind', 'noop', 'limit_key', 'k/' || n % 7000))
                        from generate_series(1, 8000) as n))
                    """)
            }
            #expect(try await database.count("from errand.job where state = 'available'") == 7000)
            #expect(try await database.count("from errand.job where state = 'parked'") == 1000)
        }
    }

    @Test("an ended job lets the next one go without reading over those that went before, while a snapshot is held")
    func heldSnapshot() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 2)")
            try await Queue(database: database).enqueue(
                all: [Noop](repeating: Noop(), count: 250), .limited(by: "a"))
            let worker = try await ManualWorker(database, kinds: Self.noop)
            let reader = try await database.makeConnection()
            try await reader.execute("begin isolation level repeatable read")
            try await reader.execute("select count(*) from errand.job")
            for _ in 1...110 { try await worker.end(worker.claim(2)) }
            // Including the unreported reads of the connection.
            let counted: Statement = """
                select sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint
                from pg_index
                where indrelid in ('errand.job'::regclass, to_regclass('errand.limit_slot'), to_regclass('errand.limit_mark'))
                """
            let read = try await database.transaction { transaction in
                let before = try await transaction.query(counted).scalar(Int64.self)
                // As if the two available jobs had finished.
                try await transaction.execute("delete from errand.job where state = 'available'")
                try await transaction.execute("select errand_internal.release_v1('{a}')")
                try await transaction.execute("select errand_internal.limit_is_full('a')")
                return try await transaction.query(counted).scalar(Int64.self) - before
            }
            #expect(read < 200)
            #expect(try await worker.claim(10).count == 2)
            await reader.close()
        }
    }

    @Test("jobs that wait for a limit keep their order with earlier and later jobs")
    func handedOn() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            let before = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3))
            let limited = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 6), .limited(by: "a"))
            let after = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 200))
            let late = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3), .limited(by: "a"))
            var mark = LowWaterMark()
            var order: [Int64] = []
            var ended: [ClaimedJob] = []
            for round in 0..<400 {
                let jobs = try await worker.roundTrip(ended, claiming: 1, from: &mark, at: .seconds(round))
                if jobs.isEmpty, ended.isEmpty { break }
                order += jobs.map(\.id)
                ended = jobs
            }
            #expect(order == before + limited + after + late)
        }
    }

    @Test("the next job gets the slot of a released job that waits after it")
    func swapped() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 2)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            let before = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3))
            let limited = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 12), .limited(by: "a"))
            let after = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 30))
            // No job of the limit runs yet. Maintenance makes two more available, after all others.
            try await database.promote()
            #expect(try await database.count("from errand.job where state = 'available' and limit_key = 'a'") == 4)
            var mark = LowWaterMark()
            var order: [Int64] = []
            var ended: [ClaimedJob] = []
            for round in 0..<100 {
                let jobs = try await worker.roundTrip(ended, claiming: 3, from: &mark, at: .seconds(round))
                if jobs.isEmpty, ended.isEmpty { break }
                #expect(
                    try await database.count("from errand.job where state = 'running' and limit_key = 'a'") <= 2)
                order += jobs.map(\.id).sorted()
                ended = jobs
            }
            #expect(Set(order) == Set(before + limited + after) && order.count == 45)
            // Two run concurrently, with one of the others.
            #expect(order.prefix(3 + 12 + 8).filter(limited.contains).count == 12)
        }
    }

    @Test(
        "a job that comes next gets no slot of one behind it that a lowered limit has no room for",
        arguments: [0, 1])
    func swappedBeyond(limit: Int) async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 2)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 4), .limited(by: "a"))
            // One runs, the next is parked, and a later one becomes available with the second slot.
            try await database.execute(
                "update errand.job set state = 'parked', queue_position = null, parked_for = 'limit:a' where id > 2")
            let running = try await worker.claim(1)
            try await database.promote()
            #expect(running.map(\.id) == [1])
            #expect(try await database.count("from errand.job where id > 2 and state = 'available'") == 1)
            try await database.execute(Statement("select errand.set_limit('a', $1::int)", [limit]))
            #expect(try await worker.claim(10).isEmpty)
            #expect(try await database.count("from errand.job where state = 'running'") == 1)
        }
    }

    @Test("a job that was handed back keeps its slot, though one before it in the queue has none")
    func handedBack() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let worker = try await ManualWorker(
                database,
                kinds: #"""
                    [{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2},
                    {"name": "other", "queue": "default", "max_attempts": 3, "priority": 2}]
                    """#)
            // On their last attempt, a claim reads the row of each again.
            for kind in ["noop", "other"] {
                try await database.execute(
                    Statement("select errand.enqueue($1, limit_key => 'a', max_attempts => 1)", [kind]))
            }
            try await worker.end(worker.claim(1, kinds: ["other"]), as: { .released($0) })
            let claim = worker.claiming(10, kinds: ["noop", "other"], beginsNow: 2)
            #expect(try await claim.reply(database.query(claim.statement)).jobs.map(\.id) == [2])
            #expect(try await database.word("select array_agg(id) from errand.job where state = 'parked'") == "{1}")
        }
    }

    @Test("marks pass no job that waits while jobs of a limit are handed on in front of it", arguments: [1, 3, 7])
    func marks(limit: Int) async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 2)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 40), .limited(by: "a"))
            for round in 0..<40 { try await queue.enqueue(Noop(), .priority(1 + round % 4)) }
            var mark = LowWaterMark()
            var found: [Int64] = []
            var ended: [ClaimedJob] = []
            for round in 0..<400 {
                if round < 40 { try await queue.enqueue(Noop(), .priority(1 + round % 4)) }
                let jobs = try await worker.roundTrip(ended, claiming: limit, from: &mark, at: .seconds(round))
                if jobs.isEmpty, ended.isEmpty, round > 40 { break }
                found += jobs.map(\.id)
                ended = jobs
            }
            #expect(found.sorted() == Array(1...120))
            // The mark moves once the transactions of other tests have ended as well.
            let start = ContinuousClock.now
            while mark.starts[1] == 0, .now - start < .seconds(60) {
                #expect(try await worker.roundTrip([], claiming: limit, from: &mark, at: .seconds(400)).isEmpty)
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(mark.starts[1] > 0)
        }
    }

    @Test("a parked job that appears below the mark of its limit starts before younger ones at the next check")
    func belowMark() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 5), .limited(by: "a"))
            try await worker.end(worker.claim(10))
            var running = try await worker.claim(10)
            #expect(running.map(\.id) == [2])
            // As if a transaction had begun long ago and just committed.
            try await database.execute("update errand.job set run_at = now() - interval '1 hour' where id = 5")
            try await worker.end(running)
            running = try await worker.claim(10)
            try await worker.end(running)
            try await database.execute("delete from errand.job where state = 'available'")
            try await database.promote()
            running = try await worker.claim(10)
            #expect(running.map(\.id) == [5])
        }
    }
}

extension ManualWorker {
    /// Writes outcomes and claims in one transaction, as a worker does; the claim begins at the mark and moves it.
    fileprivate func roundTrip(
        _ ended: [ClaimedJob], claiming limit: Int, from mark: inout LowWaterMark, at now: Duration
    ) async throws -> [ClaimedJob] {
        let completions = ended.map { Completion.succeeded($0) }
        var claim = claiming(limit, from: mark.starts)
        claim.limitsToRelease = Set(Completion.limitKeys(of: completions))
        let results = try await database.pipeline(Completion.statements(for: completions) + [claim.statement])
        let reply = try claim.reply(results[results.count - 1])
        if let observation = reply.observation { mark.observe(observation, at: now) }
        return reply.jobs
    }
}
