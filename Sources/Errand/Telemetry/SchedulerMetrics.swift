import CoreMetrics
import Postgres

/// What a scheduler counts for a monitoring system; ticks are rare, so their counters are looked up each time.
struct SchedulerMetrics: Sendable {
    private let factory: any MetricsFactory
    private let lateness: Timer

    /// Nil where the program has bootstrapped no metrics before it started the scheduler.
    init?(factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        self.factory = factory
        lateness = Timer(label: "errand_scheduler_lateness_seconds", factory: factory)
    }

    /// A tick was settled here, and its job, if it gave one, is in line since `now`.
    func settled(_ tick: CatchUp.Settled, of schedule: String, at now: Timestamp) {
        Counter(
            label: "errand_scheduler_ticks_total",
            dimensions: [("schedule", schedule), ("outcome", tick.outcome.rawValue)], factory: factory
        ).increment()
        if tick.outcome.givesJob {
            lateness.recordMicroseconds(max(0, now.microseconds - tick.tick.microseconds))
        }
    }
}
