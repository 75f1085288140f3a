import CoreMetrics
import Postgres

/// The metrics of a scheduler. Ticks are rare, so counters are looked up each time.
struct SchedulerMetrics: Sendable {
    private let factory: any MetricsFactory
    private let lateness: Timer

    /// Nil if the program bootstrapped no metrics before it started the scheduler.
    init?(factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        self.factory = factory
        lateness = Timer(label: "errand_scheduler_lateness_seconds", factory: factory)
    }

    /// This scheduler recorded a tick. Its job, if any, is available since `now`.
    func recorded(_ tick: CatchUp.Decision, of schedule: String, at now: Timestamp) {
        Counter(
            label: "errand_scheduler_ticks_total",
            dimensions: [("schedule", schedule), ("outcome", tick.outcome.rawValue)], factory: factory
        ).increment()
        if tick.outcome.givesJob {
            lateness.recordMicroseconds(max(0, now.microseconds - tick.tick.microseconds))
        }
    }
}
