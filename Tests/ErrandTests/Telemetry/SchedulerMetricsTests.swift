import CoreMetrics
import ErrandTestKit
import Logging
import MetricsTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Metrics of a scheduler") struct SchedulerMetricsTests {
    @Test("each tick is counted by the scheduler that recorded it, with the lateness of its job")
    func ticks() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_schedule('fast', 'every 1 s', 'noop', missed => 'latest', max_lateness => '5 s')")
            try await database.setLastTick("date_trunc('second', now()) - interval '60 s'")
            let metrics = TestMetrics()
            try await withThrowingTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        var loop = withMetricsFactory(metrics) {
                            SchedulerLoop(database: database, definitions: [], logger: Logger(label: "test"))
                        }
                        try await loop.tickAll()
                    }
                }
                try await group.waitForAll()
            }
            for row in try await database.query("select outcome, count(*) from errand.tick group by outcome") {
                let (outcome, count) = try row.decode(String.self, Int.self)
                let counted = metrics.counterTotal(
                    label: "errand_scheduler_ticks_total", dimensions: [("schedule", "fast"), ("outcome", outcome)])
                #expect(Int(counted) == count, "\(outcome)")
            }
            let jobs = try await database.query("select count(*) from errand.job").scalar(Int.self)
            let lateness = try metrics.expectTimer("errand_scheduler_lateness_seconds").values
            #expect(lateness.count == jobs && jobs > 0)
            #expect(lateness.allSatisfy { $0 >= 0 && $0 < 70_000_000_000 })
        }
    }
}
