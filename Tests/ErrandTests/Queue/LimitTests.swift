import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Limits") struct LimitTests {
    @Test("never more than N jobs of a key run, with 8 concurrent workers, and all jobs complete")
    func neverMore() async throws {
        try await withTestDatabase(connections: 12) { database, _ in
            try await database.execute("select errand.set_limit('a', 3)")
            try await database.execute("select errand.set_limit('b/*', 1)")
            let queue = Queue(database: database)
            for round in 0..<30 {
                try await queue.enqueue(Noop(), .limited(by: "a"))
                try await queue.enqueue(Noop(), .limited(by: "b/\(round % 2)"))
                try await queue.enqueue(Noop())
            }
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 60), .limited(by: "a"))
            let most = Shared<[String: Int]>([:])
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let worker = try await ManualWorker(database)
                        while try await database.count("from errand.job") > 0, .now - start < .seconds(300) {
                            let jobs = try await worker.claim(5)
                            // Like maintenance after another session had the limits' lock.
                            if jobs.isEmpty { try await database.promote() }
                            let running = try await database.query(
                                """
                                select limit_key, count(*) from errand.job
                                where state = 'running' and limit_key is not null group by 1
                                """)
                            for row in running {
                                let (key, count) = try row.decode(String.self, Int.self)
                                most.with { $0[key] = max($0[key] ?? 0, count) }
                            }
                            try await worker.end(jobs)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(most.with { $0 } == ["a": 3, "b/0": 1, "b/1": 1])
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 150)
        }
    }

    @Test("a limit that is lowered also holds for jobs that were made available under the higher one")
    func lowered() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 2)")
            for _ in 0..<5 { try await Queue(database: database).enqueue(Noop(), .limited(by: "a")) }
            let worker = try await ManualWorker(database)
            // Two completions make two other jobs available.
            try await worker.end(try await worker.claim(5))
            #expect(try await database.count("from errand.job where state = 'available'") == 2)
            try await database.execute("select errand.set_limit('a', 0)")
            #expect(try await worker.claim(5).isEmpty)
            #expect(try await database.count("from errand.job where parked_for = 'limit:a'") == 3)
            try await database.execute("select errand.set_limit('a', 3)")
            try await database.promote()
            try await database.execute("select errand.set_limit('a', null)")
            try await database.execute("select errand.set_limit('*', 1)")
            // The first claim parks them again and makes one available.
            let started = try await worker.claim(5).count + worker.claim(5).count
            #expect(started == 1)
        }
    }

    @Test("a lost worker leaks no slot: its jobs keep theirs until they are rescued, and not after")
    func lostWorker() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 2)")
            let queue = Queue(database: database)
            for _ in 0..<4 { try await queue.enqueue(Noop(), .limited(by: "a")) }
            let victim = try await ManualWorker(database)
            let successor = try await ManualWorker(database)
            #expect(try await victim.claim(10).count == 2)
            #expect(try await successor.claim(10).isEmpty)
            #expect(try await database.count("from errand.job where state = 'parked' and parked_for = 'limit:a'") == 2)
            try await victim.dies()
            try await database.promote()
            var ended = 0
            while ended < 4 {
                let jobs = try await successor.claim(10)
                // Jobs that were running in the crash run one at a time.
                #expect((1...2).contains(jobs.count))
                if jobs.isEmpty { break }
                ended += jobs.count
                #expect(try await successor.end(jobs) == [])
            }
            #expect(try await database.count("from errand.history") == 4)
        }
    }

    @Test("jobs that wait for a limit start by priority, then by age, before later ones")
    func order() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database)
            let first = try await queue.enqueue(Noop(), .limited(by: "a")).id
            var running = try await worker.claim(1)
            #expect(running.map(\.id) == [first])
            let second = try await queue.enqueue(Noop(), .limited(by: "a"))
            let third = try await queue.enqueue(Noop(), .limited(by: "a"))
            let urgent = try await queue.enqueue(Noop(), .limited(by: "a"), .priority(1))
            #expect([second, third, urgent].map(\.state) == ["parked", "parked", "parked"])
            var order: [Int64] = []
            while !running.isEmpty {
                try await worker.end(running)
                running = try await worker.claim(10)
                order += running.map(\.id)
            }
            #expect(order == [urgent.id, second.id, third.id])
        }
    }

    @Test("a raised or removed limit releases waiting jobs; 0 blocks all")
    func changed() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 0)")
            let queue = Queue(database: database)
            for _ in 0..<5 { try await queue.enqueue(Noop(), .limited(by: "a")) }
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute("select errand.set_limit('a', 2)")
            try await database.promote()
            #expect(try await worker.claim(10).count == 2)
            try await database.execute("select errand.set_limit('a', null)")
            #expect(
                try await database.becomes(
                    "count(*) = 3 from errand.job where state = 'available'", after: database.promote))
            #expect(try await worker.claim(10).count == 3)
        }
    }

    @Test("a kind's limit comes with its program, and ops may change it until the program changes its mind")
    func ofKind() async throws {
        try await withTestDatabase { database, _ in
            func kinds(_ limit: Int) -> String {
                #"""
                [{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2, "is_whole": true,
                    "max_running": \#(limit)}]
                """#
            }
            var worker = try await ManualWorker(database, kinds: kinds(2))
            for _ in 0..<9 { try await Queue(database: database).enqueue(Noop()) }
            #expect(try await worker.claim(10).count == 2)
            try await database.execute("select errand.set_limit('kind/noop', 3)")
            worker = try await ManualWorker(database, kinds: kinds(2))
            try await database.promote()
            #expect(try await worker.claim(10).count == 1)
            worker = try await ManualWorker(database, kinds: kinds(5))
            try await database.promote()
            #expect(try await worker.claim(10).count == 2)
        }
    }

    @Test(
        "a parked job whose key is enqueued again goes on waiting for its limit, and is released when that has room",
        arguments: [nil, "kind/noop"], ["parked", "scheduled"])
    func enqueuedAgain(kindLimit: String?, wasFirst: String) async throws {
        try await withTestDatabase { database, _ in
            let key = kindLimit ?? "a"
            let asked = kindLimit == nil ? ", limit_key => 'a'" : ""
            let later = wasFirst == "scheduled" ? ", run_at => now() + interval '1 hour'" : ""
            let worker = try await ManualWorker(
                database,
                kinds: #"""
                    [{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2, "is_whole": true,
                        "max_running": \#(kindLimit == nil ? "null" : "1")}]
                    """#)
            try await database.execute(Statement("select errand.set_limit('\(key)', 1)"))
            try await database.execute(Statement("select errand.enqueue('noop'\(asked))"))
            let running = try await worker.claim(1)
            try await database.execute(Statement("select errand.enqueue('noop', unique_key => 'u'\(asked)\(later))"))
            let again = "select errand.enqueue('noop', unique_key => 'u', on_conflict => 'reschedule'\(asked))"
            for _ in 1...2 { try await database.execute(Statement(again)) }
            #expect(try await worker.claim(10).isEmpty)
            #expect(
                try await database.word("select parked_for from errand.job where unique_key = 'u'") == "limit:\(key)")
            #expect(try await worker.end(running) == [])
            #expect(try await worker.claim(10).count == 1)
        }
    }

    @Test("no job can be parked that waits for nothing, or wait for something without being parked")
    func constraint() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop')")
            for change in [
                "state = 'parked', queue_position = null", "parked_for = 'limit:a'",
                "state = 'scheduled', queue_position = null, parked_for = 'limit:a'",
            ] {
                #expect(try await database.refusal(of: "update errand.job set \(change)") == "23514", "\(change)")
            }
        }
    }

    @Test("the limit of a kind holds for jobs from before its registration, and for those of a bulk enqueue")
    func fromBefore() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            for _ in 1...5 { try await queue.enqueue(Noop()) }
            let worker = try await ManualWorker(
                database,
                kinds: #"""
                    [{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2, "is_whole": true,
                        "max_running": 2}]
                    """#)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 5))
            let start = ContinuousClock.now
            while try await database.count("from errand.job") > 0, .now - start < .seconds(120) {
                let jobs = try await worker.claim(10)
                #expect(jobs.count <= 2)
                #expect(try await database.count("from errand.job where state = 'running'") <= 2)
                try await worker.end(jobs)
                // Only maintenance misses jobs that were claimed without a key of their own.
                try await database.promote()
            }
            #expect(try await database.count("from errand.history") == 10)
        }
    }

    @Test("a change of a limit or rate is on record with its reason, and an empty reason is refused")
    func reasons() async throws {
        try await withTestDatabase { database, _ in
            for call in [
                "set_limit('a', 3, 'a new contract')", "set_limit('a', null, reason => 'the end of it')",
                "set_limit('b', 1)", "set_rate('mail', '1 min', 100, 'the provider asks')",
                "set_rate('mail', null, null, 'it no longer does')",
            ] {
                try await database.execute(Statement("select errand.\(call)"))
            }
            #expect(
                try await database.text("select action, reason from errand.audit order by id") == """
                    set_limit|a new contract
                    set_limit|the end of it
                    set_limit|
                    set_rate|the provider asks
                    set_rate|it no longer does
                    """)
            for call in ["set_limit('a', 3, ' ')", "set_rate('mail', '1 min', 100, '')"] {
                #expect(try await database.refusal(of: "select errand.\(call)", as: "errand_ops") == "ER422", "\(call)")
            }
        }
    }

    @Test("an enqueue of 4,000 limited jobs reads each a few times, though the table was analysed while empty")
    func linear() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("analyze errand.job")
            try await database.execute("select errand.set_limit('a', 3)")
            let (whole, parked) = try await database.transaction { transaction in
                try await transaction.execute(
                    """
                    select count(*) from errand.enqueue_many((
                        select jsonb_agg(jsonb_build_object('kind', 'noop', 'limit_key', 'a')) from generate_series(1, 4000)))
                    """)
                return try await transaction.query(
                    """
                    select
                        pg_stat_get_xact_numscans('errand.job'::regclass),
                        pg_stat_get_xact_tuples_returned('errand.job_parked_index'::regclass)
                    """
                ).first!.decode(Int64.self, Int64.self)
            }
            #expect(whole == 0)
            #expect(parked <= 16_000)
            #expect(try await database.count("from errand.job where state = 'available'") == 3)
        }
    }

    @Test("3,000 jobs that a limit holds don't hide the one behind them")
    func manyHeld() async throws {
        try await withTestDatabase { database, _ in
            // Enqueued before the limit existed, so all are available.
            try await Queue(database: database).enqueue(
                all: [Noop](repeating: Noop(), count: 3000), .limited(by: "a"))
            try await database.execute("select errand.set_limit('a', 0)")
            let behind = try await Queue(database: database).enqueue(Noop()).id
            let worker = try await ManualWorker(database)
            var mark = LowWaterMark()
            var found: [Int64] = []
            for round in 0..<20 where found.isEmpty {
                let claim = Claim(
                    queue: "default", kinds: ["noop"], workerID: worker.id, limit: 10, starts: mark.starts,
                    priorities: [1, 2, 3, 4], isDurable: true, beginsNow: 10, takesCrashed: true, generation: 0)
                let reply = try claim.reply(await database.query(claim.statement))
                if let observation = reply.observation { mark.observe(observation, at: .seconds(round)) }
                found += reply.jobs.map(\.id)
            }
            #expect(found == [behind])
            for _ in 1...6 { #expect(try await worker.claim(10).isEmpty) }
            #expect(try await database.count("from errand.job where state = 'parked'") == 3000)
        }
    }

    @Test(
        "6,000 jobs in front that may not run hide none behind them: one claim takes it",
        arguments: ["limit_key => 'a'", "not_after => now() + interval '1 second'", "kind => 'held'"])
    func manyInFront(what: String) async throws {
        try await withTestDatabase { database, _ in
            // Enqueued before the limit applied, so all are available.
            let kind = what.contains("held") ? "held" : "noop"
            let option = what.contains("held") ? "" : ", " + what.replacing(#/(\w+) => /#) { "'\($0.1)', " }
            try await database.execute(
                Statement(
                    """
                    select errand.enqueue_many(jsonb_agg(jsonb_build_object('kind', '\(kind)'\(option))))
                    from generate_series(1, 6000)
                    """))
            try await database.execute("select errand.set_limit('a', 0)")
            try await database.execute("select errand.set_limit('b', 1)")
            let limited = try await Queue(database: database).enqueue(Noop(), .limited(by: "b")).id
            let behind = try await Queue(database: database).enqueue(Noop()).id
            let worker = try await ManualWorker(
                database,
                kinds: #"""
                    [{"name": "held", "queue": "default", "max_attempts": 3, "priority": 2, "is_whole": true,
                        "circuits": ["store"]}]
                    """#)
            try await database.execute("select errand.circuit_open('store', 'test')")
            #expect(try await database.becomes("min(not_after) < now() is not false from errand.job"))
            #expect(
                try await worker.claim(10, kinds: ["noop", "held"]).map(\.id).sorted() == [limited, behind])
            // Each claim clears some of them.
            for _ in 1...4 { #expect(try await worker.claim(10, kinds: ["noop", "held"]).isEmpty) }
            #expect(try await database.count("from errand.job where state = 'available'") == 0)
        }
    }
}
