import Metrics

/// The metrics of a pool. They are described in `docs/metrics.md`. Pools of one name are added up.
final class PoolMetrics: Sendable {
    private let wait: Timer
    private let timeouts: Counter
    private let used: Meter
    private let most: Meter
    private let limit: Int

    /// Nil if the program bootstrapped no metrics before it made the pool.
    init?(pool: String, limit: Int, factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        let dimensions = [("pool", pool)]
        wait = Timer(label: "errand_pool_wait_seconds", dimensions: dimensions, factory: factory)
        timeouts = Counter(label: "errand_pool_timeouts_total", dimensions: dimensions, factory: factory)
        used = Meter(label: "errand_pool_connections", dimensions: dimensions, factory: factory)
        most = Meter(label: "errand_pool_connections_limit", dimensions: dimensions, factory: factory)
        self.limit = limit
        most.increment(by: Double(limit))
    }

    deinit { most.decrement(by: Double(limit)) }

    /// A caller has got a connection.
    func took() { used.increment(by: 1.0) }

    /// A caller has returned one.
    func returned() { used.decrement(by: 1.0) }

    /// No connection was free, and the caller has waited for one, whether it got it or not.
    func waited(since start: ContinuousClock.Instant) {
        wait.record(duration: .now - start)
    }

    /// A caller has given up.
    func timedOut() { timeouts.increment() }
}
