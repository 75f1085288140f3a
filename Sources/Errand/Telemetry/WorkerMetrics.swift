import CoreMetrics
import Postgres
import Synchronization
import Waiting

/// The metrics of a worker, with handles that are made once. They are described in `docs/metrics.md`.
///
/// Completed attempts are counted with the batch that wrote them. Per attempt two durations are recorded; per batch one
/// counter is raised for each kind and outcome. Nothing is allocated after the first attempt of a kind.
final class WorkerMetrics: Sendable {
    let heartbeatFailures: Counter
    let leasesLost: Counter
    let wakeUps: Counter
    private let factory: any MetricsFactory
    private let queues: [String: QueueMetrics]
    private let kinds = Mutex<[KindMetrics.Key: KindMetrics]>([:])

    /// Nil if the program bootstrapped no metrics before it made the worker.
    ///
    /// - Parameters:
    ///   - queues: how many jobs of each queue may run here at once.
    ///   - cell: the label `cell` of all metrics; nil leaves it out.
    init?(queues: [String: Int], cell: String? = nil, factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        let factory = factory.labelled(cell: cell)
        self.factory = factory
        self.queues = Dictionary(uniqueKeysWithValues: queues.map { ($0, QueueMetrics($0, slots: $1, factory)) })
        heartbeatFailures = Counter(label: "errand_worker_heartbeat_failures_total", factory: factory)
        leasesLost = Counter(label: "errand_worker_leases_lost_total", factory: factory)
        wakeUps = Counter(label: "errand_worker_wake_ups_total", factory: factory)
    }

    subscript(queue: String) -> QueueMetrics? { queues[queue] }

    /// Counts the times that a connection of this name came back after it was lost.
    func reconnects(of connection: String) -> Counter {
        Counter(
            label: "errand_worker_reconnects_total", dimensions: [("connection", connection)], factory: factory)
    }

    /// Sets the number of running jobs of each queue.
    func running(_ jobs: [ClaimedJob]) {
        var counts: [String: Int] = [:]
        for job in jobs { counts[job.queue, default: 0] += 1 }
        for (name, queue) in queues { queue.running.set(counts[name, default: 0]) }
    }

    /// Sets how much of the memory budget attempts hold, and how many wait for some. Without a budget there are no such
    /// metrics.
    func memory(of budget: AsyncSemaphore) {
        let usage = budget.usage
        guard let budget = usage.permits else { return }
        Meter(label: "errand_worker_memory_budget_bytes", factory: factory).set(budget)
        Meter(label: "errand_worker_memory_used_bytes", factory: factory).set(usage.taken)
        Meter(label: "errand_worker_memory_waiting_jobs", factory: factory).set(usage.waiting)
    }

    /// Counts attempts whose outcomes are written. Usually a batch has one kind.
    func completed(_ completions: [Completion]) {
        var kind: KindMetrics?
        var outcome = AttemptOutcome.succeeded
        var jobs = 0
        for completion in completions {
            let job = completion.job
            if kind.map({ $0.key.kind != job.kind.rawValue || $0.key.queue != job.queue }) ?? true {
                kind?.count(jobs, outcome)
                kind = self.kind(.init(queue: job.queue, kind: job.kind.rawValue))
                jobs = 0
            } else if outcome != completion.outcome {
                kind?.count(jobs, outcome)
                jobs = 0
            }
            outcome = completion.outcome
            jobs += 1
            kind?.start.recordMicroseconds(job.waitedMicroseconds)
            kind?.run.record(completion.took)
        }
        kind?.count(jobs, outcome)
    }

    private func kind(_ key: KindMetrics.Key) -> KindMetrics {
        kinds.withLock { kinds in
            if let known = kinds[key] { return known }
            let new = KindMetrics(key, factory)
            kinds[key] = new
            return new
        }
    }
}

/// The metrics of one queue's claims.
struct QueueMetrics: Sendable {
    let claims: Counter
    let claimed: Counter
    let claim: Timer
    let running: Meter
    let slots: Meter

    init(_ queue: String, slots: Int, _ factory: any MetricsFactory) {
        let dimensions = [("queue", queue)]
        claims = Counter(label: "errand_worker_claims_total", dimensions: dimensions, factory: factory)
        claimed = Counter(label: "errand_worker_claimed_jobs_total", dimensions: dimensions, factory: factory)
        claim = Timer(label: "errand_worker_claim_seconds", dimensions: dimensions, factory: factory)
        running = Meter(label: "errand_worker_running_jobs", dimensions: dimensions, factory: factory)
        self.slots = Meter(label: "errand_worker_slots", dimensions: dimensions, factory: factory)
        self.slots.set(slots)
    }

    /// A round trip with a claim returned this many jobs.
    func claimed(_ jobs: Int, took: Duration) {
        claims.increment()
        claimed.increment(by: jobs)
        claim.record(took)
    }
}

/// The metrics of the attempts of one kind in one queue.
private final class KindMetrics: Sendable {
    struct Key: Hashable, Sendable {
        let queue: String
        let kind: String
    }

    let key: Key
    let start: Timer
    let run: Timer
    private let factory: any MetricsFactory
    private let outcomes = Mutex<[AttemptOutcome: Counter]>([:])

    init(_ key: Key, _ factory: any MetricsFactory) {
        self.key = key
        self.factory = factory
        let dimensions = [("queue", key.queue), ("kind", key.kind)]
        start = Timer(label: "errand_worker_start_seconds", dimensions: dimensions, factory: factory)
        run = Timer(label: "errand_worker_attempt_seconds", dimensions: dimensions, factory: factory)
    }

    func count(_ jobs: Int, _ outcome: AttemptOutcome) {
        let counter = outcomes.withLock { outcomes in
            if let known = outcomes[outcome] { return known }
            let new = Counter(
                label: "errand_worker_attempts_total",
                dimensions: [("queue", key.queue), ("kind", key.kind), ("outcome", outcome.rawValue)], factory: factory)
            outcomes[outcome] = new
            return new
        }
        counter.increment(by: jobs)
    }
}

extension Timer {
    func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
