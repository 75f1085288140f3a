import CoreMetrics
import Postgres

/// The metrics of a scheduler. Ticks are rare, so counters are looked up each time.
struct SchedulerMetrics: Sendable {
    private let factory: any MetricsFactory
    private let lateness: Timer
    private let lastRead: Gauge

    /// Nil if the program bootstrapped no metrics before it started the scheduler.
    ///
    /// - Parameter cell: the label `cell` of all metrics; nil leaves it out.
    init?(cell: String? = nil, factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        let factory = factory.labelled(cell: cell)
        self.factory = factory
        lateness = Timer(label: "errand_scheduler_lateness_seconds", factory: factory)
        lastRead = Gauge(label: "errand_scheduler_last_read_timestamp_seconds", factory: factory)
    }

    /// This scheduler has read the schedules. A scheduler without a recent read is not alive.
    func read(at now: Timestamp) { lastRead.record(Double(now.microseconds) / 1e6 + Self.start) }

    /// The start of ``Timestamp``, in seconds since 1970.
    private static let start = 946_684_800.0

    /// This scheduler recorded a tick. Its job, if any, is available since `now`.
    func recorded(_ tick: RecordedTick, at now: Timestamp) {
        Counter(
            label: "errand_scheduler_ticks_total",
            dimensions: [("schedule", tick.schedule), ("outcome", tick.outcome)], factory: factory
        ).increment()
        if tick.givesJob {
            lateness.recordMicroseconds(max(0, now.microseconds - tick.tick.microseconds))
        }
    }
}

/// A tick that a call has recorded.
struct RecordedTick: Sendable, Hashable {
    let schedule: String
    let tick: Timestamp
    /// One of those of `errand.schedule_ticks`.
    let outcome: String

    var givesJob: Bool { outcome == "enqueued" || outcome == "late" }
}
