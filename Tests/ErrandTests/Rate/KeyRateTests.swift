import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Rates of keys") struct KeyRateTests {
    @Test("the jobs of a key start at its rate: the first at once, each other one at its own reserved time")
    func reserved() async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("tenant/*", allowed: 10)
            try await database.setKeyRate("tenant/4*", allowed: 20, burst: 2)
            let slow = try await database.enqueueRated(3, "tenant/1")
            let fast = try await database.enqueueRated(4, "tenant/42")
            let free = try await database.enqueueRated(2, "other")
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(20).map(\.id).sorted() == [slow[0], fast[0], fast[1]] + free)
            let times = try await database.reservedStarts()
            // The longest pattern counts.
            for (job, time) in [(slow[1], 100.0), (slow[2], 200), (fast[2], 50), (fast[3], 100)] {
                #expect(abs((times[job] ?? 0) - time) < 5, "job \(job)")
            }
            #expect(
                try await database.text(
                    "select name, set_as, allowed, burst, coalesce(is_full, false), reserved from errand.key_rates order by 1"
                )
                    == """
                    tenant/*|tenant/*|10|1|false|0
                    tenant/1|tenant/*|10|1|true|2
                    tenant/4*|tenant/4*|20|2|false|0
                    tenant/42|tenant/4*|20|2|true|2
                    """)
            let reason = try await database.text("select code, detail from errand.explain(\(slow[2])) where rank = 1")
            #expect(reason.hasPrefix("over_rate|over its rate: starts at "))
            #expect(reason.hasSuffix("tenant/* allows 10 within 00:16:40"))
            // It was handled twice, and starts on time.
            try await database.passRatedTime(60)
            #expect(try await worker.claim(20).map(\.id) == [fast[2]])
            try await database.passRatedTime(45)
            #expect(try await worker.claim(20).map(\.id).sorted() == [slow[1], fast[3]])
            #expect(try await database.count("from errand.rate_reservation") == 1)
        }
    }

    @Test("after a pause nothing starts at once: a reservation that is late is made again")
    func late() async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("k", allowed: 10)
            let jobs = try await database.enqueueRated(6, "k")
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(10).map(\.id) == [jobs[0]])
            // Reserved: 100 to 500. Those of 100 and 200 are late; that of 300 has come, and isn't.
            try await database.passRatedTime(350)
            #expect(try await worker.claim(10).map(\.id) == [jobs[3]])
            let times = try await database.reservedStarts()
            #expect(times.count == 4)
            for (job, time) in [(jobs[4], 50.0), (jobs[5], 150), (jobs[1], 250), (jobs[2], 350)] {
                #expect(abs((times[job] ?? 0) - time) < 5, "job \(job)")
            }
        }
    }

    @Test(
        "a reserved time that its job won't use goes to the last reserved job of the key",
        arguments: [
            "errand.cancel('{2}', 'x')", "errand.reschedule('{2}', run_at => now() + interval '1 hour')",
            "errand.reschedule('{2}', run_at => now())",
            "errand.enqueue('noop', unique_key => 'u', on_conflict => 'replace', rate_key => 'other')",
        ])
    func unused(call: String) async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("k", allowed: 10)
            try await database.enqueueRated(1, "k")
            try await database.enqueueRated(1, "k", more: #", "unique_key": "u""#)
            try await database.enqueueRated(2, "k")
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(10).map(\.id) == [1])
            try await database.execute(Statement("select * from \(call)"))
            // Reserved: 100 by job 2, 200 and 300.
            try await database.passRatedTime(110)
            #expect(try await worker.claim(10, kinds: ["noop"]).map(\.id).contains(4))
            // The time of job 4 is free again: the next job gets it.
            let next = try await database.enqueueRated(1, "k")
            _ = try await worker.claim(10)
            let expected = call.contains("now())") ? 290.0 : 190
            #expect(abs((try await database.reservedStarts()[next[0]] ?? 0) - expected) < 5)
        }
    }

    @Test("if nobody needs the reserved times any more, the next job starts when the rate allows it")
    func nobody() async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("k", allowed: 10)
            let jobs = try await database.enqueueRated(500, "k")
            let worker = try await ManualWorker(database)
            _ = try await worker.claim(500)
            try await database.execute(Statement("select errand.cancel($1, 'x')", [Array(jobs.dropFirst())]))
            try await database.passRatedTime(99)
            let next = try await database.enqueueRated(2, "k")
            _ = try await worker.claim(10)
            try await database.checkRates()
            let times = try await database.reservedStarts()
            #expect(abs((times[next[1]] ?? 0) - 1) < 5 || abs((times[next[0]] ?? 0) - 1) < 5)
            try await database.passRatedTime(101)
            #expect(try await database.count("from errand.job where state <> 'running' and run_at > now()") <= 1)
        }
    }

    @Test("another rate gives the waiting jobs other times, and none makes them due")
    func spacedAnew() async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("k/*", allowed: 10)
            let jobs = try await database.enqueueRated(4, "k/1")
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(10).count == 1)
            for (allowed, expected) in [(20, [50.0, 100, 150]), (5, [50, 250, 450]), (100, [10, 20, 30])] {
                try await database.setKeyRate("k/*", allowed: allowed)
                let times = try await database.reservedStarts()
                for (job, time) in zip(jobs.dropFirst(), expected) { #expect(abs((times[job] ?? 0) - time) < 6) }
            }
            try await database.execute("select errand.set_key_rate('k/*', null, null, reason => 'over')")
            try await database.checkRates()
            #expect(try await worker.claim(10).count == 3)
            #expect(try await database.count("from errand.rate_clock") == 0)
            #expect(
                try await database.text("select action, reason from errand.audit order by id desc limit 1")
                    == "set_key_rate|over")
        }
    }

    @Test("a kind's policy names the rate of its jobs, and each attempt is a start")
    func attempts() async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("api", allowed: 10)
            let worker = try await ManualWorker(
                database,
                kinds: """
                    [{"name": "noop", "queue": "default", "max_attempts": 5, "priority": 2, "is_whole": true,
                        "rate_key": "api"}]
                    """)
            let queue = Queue(database: database)
            let first = try await queue.enqueue(Noop())
            try await queue.enqueue(Noop(), .rated(by: "free"))
            let claimed = try await worker.claim(10)
            #expect(claimed.count == 2)
            try await worker.end(claimed) { .retried($0, error: "x", after: .zero) }
            #expect(try await worker.claim(10).count == 1)
            #expect(abs((try await database.reservedStarts()[first.id] ?? 0) - 100) < 5)
            try await queue.enqueue(all: [Noop(), Noop()])
            #expect(try await database.count("from errand.job where rate_key = 'api'") == 3)
        }
    }

    @Test("with a limit too, a job over its rate gives its slot back")
    func limited() async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("r", allowed: 10)
            try await database.execute("select errand.set_limit('l', 1)")
            try await database.execute("update errand.limit set has_slots = true")
            try await database.enqueueRated(2, "r", more: #", "limit_key": "l""#)
            try await database.execute("select errand.enqueue('noop', limit_key => 'l')")
            let worker = try await ManualWorker(database)
            let first = try await worker.claim(10)
            #expect(first.map(\.id) == [1])
            try await worker.end(first)
            #expect(
                try await database.becomes("exists (select from errand.job where id = 3 and state = 'running')") {
                    try await database.execute("select errand_internal.release_parked()")
                    _ = try await worker.claim(10)
                })
            #expect(try await database.reservedStarts().count == 1)
        }
    }

    @Test("jobs that could start stay in the queue for a worker that has room")
    func room() async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("k", allowed: 10, burst: 3)
            try await database.enqueueRated(5, "k")
            let worker = try await ManualWorker(database)
            for (beginsNow, count) in [(0, 0), (1, 1), (1, 1), (5, 1), (5, 0)] {
                let claim = worker.claiming(10, beginsNow: beginsNow)
                #expect(try claim.reply(await database.query(claim.statement)).jobs.count == count)
            }
            #expect(try await database.reservedStarts().count == 2)
        }
    }

    @Test("what is out of bounds is refused")
    func refused() async throws {
        try await withTestDatabase { database, _ in
            for (call, state, words) in [
                ("set_key_rate('', '1 s', 1)", "ER422", "rate_key: expected 1 to 500 characters, got ''"),
                ("set_key_rate('a', '100 ms', 1)", "ER422", "per: expected at least 1 s"),
                ("set_key_rate('a', '1 month', 1)", "ER422", "without months and years, got 1 mon"),
                ("set_key_rate('a', '1 s', 0)", "ER422", "allowed: expected 1 to 1000000, got 0"),
                ("set_key_rate('a', '1 s', 1, 0)", "ER422", "burst: expected 1 to 1000000, got 0"),
                ("set_key_rate('a', '1 s', null)", "ER422", "allowed: expected 1 to 1000000, got null"),
                ("set_key_rate('a', null, null)", "ER404", "rate_key: expected one that has a rate, got 'a'"),
                ("set_key_rate('a', '1 s', 1, reason => ' ')", "ER422", "reason: expected"),
                ("enqueue('noop', rate_key => 'a*')", "ER422", "rate_key: expected 1 to 500 characters without"),
                (
                    #"enqueue_many('[{"kind": "noop", "rate_key": ""}]')"#, "ER422",
                    "jobs[1]: rate_key: expected 1 to 500 characters"
                ),
            ] {
                await expectRefusal("select errand.\(call)", state, words, in: database)
            }
        }
    }

    @Test("clocks and reservations that nobody needs are pruned")
    func pruned() async throws {
        try await withTestDatabase { database, _ in
            try await database.setKeyRate("k", allowed: 10)
            try await database.enqueueRated(3, "k")
            let worker = try await ManualWorker(database)
            _ = try await worker.claim(10)
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.rate_clock") == 1)
            try await database.execute("select errand.cancel('{2,3}', 'x')")
            try await database.execute("update errand.rate_reservation set start_at = start_at - interval '1 hour'")
            try await database.execute("update errand.rate_clock set tat = tat - 3600")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.rate_clock, errand.rate_reservation") == 0)
            #expect(try await database.count("from errand.rate_reservation") == 0)
        }
    }
}
