import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Catching up") struct CatchUpTests {
    /// How many ticks each outcome has, once all that is due is recorded.
    private func outcomes(
        _ cron: String, after lastTick: String, missed: MissedTicks, maxLateness: String = "1 min", bound: Int = 100,
        isPaused: Bool = false
    ) async throws -> [String: Int] {
        try await withTestDatabase { database, _ in
            try await database.execute(
                Statement(
                    """
                    select errand.put_schedule(
                        'one', $1, 'noop', missed => $2, max_lateness => $3::text::interval, max_catch_up => $4::int8::int)
                    """, [cron, missed.rawValue, maxLateness, bound]))
            try await database.setLastTick(lastTick)
            if isPaused { try await database.execute("select errand.pause_schedule('one', 'a test')") }
            var isDone = false
            while !isDone {
                isDone = try await database.query("select errand.tick_schedules()").scalar(Int.self) == 0
            }
            #expect(
                try await database.count(
                    "from errand.tick where (job_id is not null) <> (outcome in ('enqueued', 'late'))")
                    == 0)
            let rows = try await database.query("select outcome, count(*) from errand.tick group by outcome")
            return Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode(String.self, Int.self) })
        }
    }

    /// At a minute that is half an hour away, so that no tick is in time.
    private func hourly() async throws -> String {
        try await withTestDatabase { database, _ in
            try await database.text("select to_char(now() - interval '30 minutes', 'FMMI') || ' * * * *'")
        }
    }

    @Test("of all missed ticks at most the bound is enqueued")
    func bounded() async throws {
        let outcomes = try await outcomes(
            hourly(), after: "now() - interval '3 days'", missed: .all, bound: 5)
        #expect(outcomes == ["late": 5, "skipped": 67])
    }

    @Test(
        "a tick in time is enqueued by each rule, and stands for the missed ones if one is enough",
        arguments: [(MissedTicks.skip, "skipped"), (.latest, "coalesced"), (.all, "late")])
    func inTime(missed: MissedTicks, others: String) async throws {
        let outcomes = try await outcomes(
            "every 1 h", after: "now() - interval '3 days'", missed: missed, maxLateness: "90 min")
        // One or two are in time.
        #expect((1...2).contains(outcomes["enqueued"] ?? 0))
        #expect(outcomes[others] == 72 - (outcomes["enqueued"] ?? 0))
        #expect(outcomes.count == 2)
    }

    @Test("a short outage drops no tick, however fast the schedule is", arguments: MissedTicks.allCases)
    func shortOutage(missed: MissedTicks) async throws {
        let outcomes = try await outcomes("every 1 s", after: "now() - interval '20 s'", missed: missed)
        #expect(Set(outcomes.keys) == ["enqueued"] && outcomes["enqueued"] ?? 0 >= 20)
    }

    @Test("a fast schedule that was down for a year leaves some 1,000 ticks without a job on record")
    func boundedRecord() async throws {
        let outcomes = try await outcomes("every 1 s", after: "now() - interval '365 days'", missed: .latest)
        #expect(Set(outcomes.keys) == ["enqueued", "coalesced"])
        // While they are recorded, some ticks come and some are no longer in time.
        #expect((990...1020).contains(outcomes["coalesced"] ?? 0), "\(outcomes)")
        #expect((50...90).contains(outcomes["enqueued"] ?? 0), "\(outcomes)")
    }

    @Test("a pause gives no job, and leaves some 1,000 of its ticks on record")
    func paused() async throws {
        let outcomes = try await outcomes(
            "every 1 s", after: "now() - interval '1 day'", missed: .all, isPaused: true)
        #expect(Set(outcomes.keys) == ["paused"])
        #expect((1000...1020).contains(outcomes["paused"] ?? 0), "\(outcomes)")
    }
}
