import CoreMetrics
import ErrandTestKit
import Logging
import MetricsTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Metrics of a worker") struct WorkerMetricsTests {
    @Test("each ended attempt is counted once, by queue, kind and outcome, with its two times")
    func attempts() async throws {
        let metrics = TestMetrics()
        let handler = ProbeHandler { job, _ in job.step < 30 ? .done : .fail(reason: "of no use") }
        try await withMetricsFactory(metrics) {
            try await withWorker([handler]) { database, queue in
                try await queue.enqueue(all: (0..<40).map(Probe.init))
                try await queue.enqueue(all: [Noop](repeating: Noop(), count: 20))
                #expect(try await database.drains())
            }
        }
        func ended(_ kind: String, _ outcome: String) -> Int64 {
            metrics.counterTotal(
                label: "errand_worker_attempts_total",
                dimensions: [("queue", "default"), ("kind", kind), ("outcome", outcome)])
        }
        #expect(ended("probe", "succeeded") == 30)
        #expect(ended("probe", "failed") == 10)
        #expect(ended("noop", "succeeded") == 20)
        for label in ["errand_worker_start_seconds", "errand_worker_attempt_seconds"] {
            let probes = try metrics.expectTimer(label, [("queue", "default"), ("kind", "probe")])
            let noops = try metrics.expectTimer(label, [("queue", "default"), ("kind", "noop")])
            #expect(probes.values.count == 40 && noops.values.count == 20)
            #expect((probes.values + noops.values).allSatisfy { $0 >= 0 && $0 < 10_000_000_000 })
        }
    }

    @Test("claims are counted with their jobs and time, and a stopped worker runs nothing")
    func claims() async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            try await withWorker { database, queue in
                try await queue.enqueue(all: [Noop](repeating: Noop(), count: 50))
                #expect(try await database.drains())
            }
        }
        let dimensions = [("queue", "default")]
        #expect(metrics.counterTotal(label: "errand_worker_claimed_jobs_total", dimensions: dimensions) == 50)
        let claims = metrics.counterTotal(label: "errand_worker_claims_total", dimensions: dimensions)
        #expect(claims >= 1 && claims <= 50)
        let times = try metrics.expectTimer("errand_worker_claim_seconds", dimensions).values
        #expect(times.count == Int(claims) && times.allSatisfy { $0 > 0 })
        #expect(try metrics.expectMeter("errand_worker_running_jobs", dimensions).lastValue == 0)
        #expect(try metrics.expectMeter("errand_worker_slots", dimensions).lastValue == 10)
    }

    @Test(
        "connections that were cut are counted as they come back, and wake-ups as they arrive",
        .enabled(if: !TestServer.isPooled, "behind a pooler in transaction mode there are no wake-ups"))
    func reconnects() async throws {
        let metrics = TestMetrics()
        let reconnects: @Sendable () -> Int64 = {
            metrics.counterTotal(label: "errand_worker_reconnects_total", dimensions: [("connection", "listen")])
        }
        try await withMetricsFactory(metrics) {
            try await withWorker { database, queue in
                let isAsleep = "last_value = 2 from errand.wake_flag"
                #expect(try await database.becomes(isAsleep))
                #expect(reconnects() == 0)
                let server = try await database.makeConnection()
                try await server.execute(
                    """
                    select pg_terminate_backend(pid)
                    from pg_stat_activity
                    where datname = current_database() and query ~ '^listen "?errand_cancel'
                    """)
                await server.close()
                for _ in 0..<1000 where reconnects() == 0 { try await Task.sleep(for: .milliseconds(10)) }
                #expect(reconnects() == 1)
                #expect(try await database.becomes(isAsleep))
                try await queue.enqueue(Noop())
                #expect(try await database.drains())
            }
        }
        #expect(metrics.counterTotal(label: "errand_worker_wake_ups_total") >= 1)
    }

    @Test("with several databases each metric has its name as a label")
    func cell() async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            try await withWorker(configure: { $0.cell = "db1/q" }) { database, queue in
                try await queue.enqueue(Noop())
                #expect(try await database.drains())
            }
            let scheduler = try #require(SchedulerMetrics(cell: "db1/q", factory: metrics))
            scheduler.read(at: Timestamp(microseconds: 0))
        }
        #expect(
            metrics.counterTotal(
                label: "errand_worker_attempts_total",
                dimensions: [("queue", "default"), ("kind", "noop"), ("outcome", "succeeded"), ("cell", "db1/q")]) == 1)
        #expect(
            try metrics.expectMeter("errand_worker_slots", [("queue", "default"), ("cell", "db1/q")]).lastValue == 10)
        _ = try metrics.expectGauge("errand_scheduler_last_read_timestamp_seconds", [("cell", "db1/q")])
    }

    @Test("the memory that attempts hold is shown beside the budget, with the jobs that wait for some")
    func memory() async throws {
        let metrics = TestMetrics()
        let open = Shared(false)
        func value(_ name: String) -> Double? {
            let meter = try? metrics.expectMeter("errand_worker_memory_\(name)")
            return meter?.lastValue
        }
        try await withMetricsFactory(metrics) {
            try await withWorker([LargeHandler(open: open)], configure: { $0.memory = 100 }) { database, queue in
                try await queue.enqueue(all: (0..<3).map { _ in Large() })
                for _ in 0..<1000 where value("waiting_jobs") != 2 { try await Task.sleep(for: .milliseconds(10)) }
                #expect(value("waiting_jobs") == 2)
                #expect(value("used_bytes") == 60 && value("budget_bytes") == 100)
                open.with { $0 = true }
                #expect(try await database.drains())
            }
        }
        #expect(value("used_bytes") == 0 && value("waiting_jobs") == 0)
    }

    @Test("a worker without a memory budget has no metrics of one")
    func unbounded() async throws {
        let metrics = TestMetrics()
        try await withMetricsFactory(metrics) {
            try await withWorker(configure: { $0.memory = nil }) { database, queue in
                try await queue.enqueue(Noop())
                #expect(try await database.drains())
            }
        }
        #expect(throws: TestMetricsError.self) { try metrics.expectMeter("errand_worker_memory_budget_bytes") }
    }

    @Test("a program that has bootstrapped no metrics counts nothing")
    func none() {
        #expect(WorkerMetrics(queues: ["default": 1], factory: NOOPMetricsHandler.instance) == nil)
        #expect(SchedulerMetrics(factory: NOOPMetricsHandler.instance) == nil)
    }
}

/// A job that takes most of a small memory budget.
private struct Large: Job {
    static let kind: JobKind = "large"
    static let policy = JobPolicy(memory: 60)
}

private struct LargeHandler: JobHandler {
    let open: Shared<Bool>
    func run(_ job: Large, in context: JobContext) async throws -> Outcome {
        while !open.with({ $0 }) { try await Task.sleep(for: .milliseconds(10)) }
        return .done
    }
}
