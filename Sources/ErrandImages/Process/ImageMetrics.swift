import CoreMetrics

/// The metrics of the pool. They are described in `docs/metrics.md`.
struct ImageMetrics: Sendable {
    private let started: Counter
    private let busy: Meter
    private let idle: Meter
    /// By outcome of the photo.
    private let photos: [String: Timer]

    /// Nil if the program bootstrapped no metrics before it made the pool.
    init?(factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        let processes = "errand_image_processes"
        started = Counter(label: "errand_image_processes_started_total", factory: factory)
        busy = Meter(label: processes, dimensions: [("state", "busy")], factory: factory)
        idle = Meter(label: processes, dimensions: [("state", "idle")], factory: factory)
        let timers = ["compressed", "refused", "failed", "cancelled"].map { outcome in
            (outcome, Timer(label: "errand_image_seconds", dimensions: [("outcome", outcome)], factory: factory))
        }
        photos = Dictionary(timers) { one, _ in one }
    }

    func startedProcess() { started.increment() }

    func processes(busy: Int, idle: Int) {
        self.busy.set(busy)
        self.idle.set(idle)
    }

    /// A photo is done. A photo that was tried in two processes counts once.
    func finished(_ error: (any Error)?, took: Duration) {
        // Four fixed outcomes instead of the error's code, which comes from a child process that a photo may have taken
        // over.
        let outcome =
            switch error {
            case nil: "compressed"
            case let error as ImageError: error.isPermanent ? "refused" : "failed"
            default: "cancelled"
            }
        let (seconds, attoseconds) = took.components
        photos[outcome]?.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
