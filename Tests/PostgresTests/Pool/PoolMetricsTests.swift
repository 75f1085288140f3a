import CoreMetrics
import ErrandTestKit
import Logging
import MetricsTestKit
import Testing

@testable import Postgres

@Suite("Metrics of a pool") struct PoolMetricsTests {
    private static let dimensions = [("pool", "small")]

    @Test("connections in use are counted, and so are the waits for one and those that end without")
    func counts() async throws {
        try await withTestDatabase { _, configuration in
            let metrics = TestMetrics()
            let pool = withMetricsFactory(metrics) {
                Database(
                    configuration: configuration, maximumConnections: 1, waitLimit: .milliseconds(100), pool: "small",
                    logger: Logger(label: "test"))
            }
            func inUse() -> Double? {
                try? metrics.expectMeter("errand_pool_connections", Self.dimensions).lastValue
            }
            _ = try await pool.query("select 1")
            #expect(inUse() == 0)
            #expect(try metrics.expectTimer("errand_pool_wait_seconds", Self.dimensions).values.isEmpty)
            try await pool.withConnection { _ in
                #expect(inUse() == 1)
                let error = await #expect(throws: PostgresError.self) { try await pool.query("select 1") }
                #expect(error?.code == .poolExhausted)
            }
            #expect(inUse() == 0)
            let waits = try metrics.expectTimer("errand_pool_wait_seconds", Self.dimensions).values
            #expect(waits.count == 1 && waits[0] >= 100_000_000)
            let timeouts = metrics.counterTotal(label: "errand_pool_timeouts_total", dimensions: Self.dimensions)
            #expect(timeouts == 1)
            await pool.close()
        }
    }

    @Test("a connection that breaks is no longer in use, and neither is one that could not be opened")
    func broken() async throws {
        try await withTestDatabase { _, configuration in
            let metrics = TestMetrics()
            let pool = withMetricsFactory(metrics) {
                Database(
                    configuration: configuration, maximumConnections: 2, pool: "small", logger: Logger(label: "test"))
            }
            for _ in 1...3 {
                await #expect(throws: PostgresError.self) {
                    try await pool.query("select pg_terminate_backend(pg_backend_pid())")
                }
            }
            let used = try metrics.expectMeter("errand_pool_connections", Self.dimensions)
            #expect(used.lastValue == 0)
            let elsewhere = configuration.with(database: "no_such_database")
            let lost = withMetricsFactory(metrics) {
                Database(
                    configuration: elsewhere, maximumConnections: 2, pool: "lost", logger: Logger(label: "test"))
            }
            await #expect(throws: PostgresError.self) { try await lost.query("select 1") }
            let unused = try metrics.expectMeter("errand_pool_connections", [("pool", "lost")])
            #expect(unused.values.isEmpty)
            await pool.close()
            await lost.close()
        }
    }

    @Test("pools of one name are added up, and one that is gone no longer counts")
    func sums() async throws {
        try await withTestDatabase { _, configuration in
            let metrics = TestMetrics()
            func limit() -> Double? {
                try? metrics.expectMeter("errand_pool_connections_limit", Self.dimensions).lastValue
            }
            func pool(_ connections: Int) -> Database {
                withMetricsFactory(metrics) {
                    Database(
                        configuration: configuration, maximumConnections: connections, pool: "small",
                        logger: Logger(label: "test"))
                }
            }
            let first = pool(3)
            do {
                let second = pool(5)
                #expect(limit() == 8)
                await second.close()
            }
            #expect(limit() == 3)
            await first.close()
        }
    }
}
