import CoreMetrics

/// What the pool counts for a monitoring system. `docs/metrics.md` says what each means.
struct ImageMetrics: Sendable {
    private let started: Counter
    private let busy: Meter
    private let idle: Meter
    /// By what became of the photo.
    private let photos: [String: Timer]

    /// Nil where the program has bootstrapped no metrics before it made the pool.
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

    /// A photo is done; one that was tried in two processes counts once.
    func ended(_ error: (any Error)?, took: Duration) {
        // Four words and not the error's code: that comes from the child process, which a photo may have taken over.
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
