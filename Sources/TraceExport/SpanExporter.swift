import CoreMetrics
import Logging
import Synchronization
import Waiting

/// Exports ended spans in batches, on a task of its own. A job never waits for it: beyond
/// ``ExportLimits/queue`` spans, further ones are dropped and counted.
package final class SpanExporter: Sendable {
    private struct State {
        var queue: SpanQueue
        var isUrgent = false
        var isStopping = false
        var task: Task<Void, Never>?
    }

    private let state: Mutex<State>
    private let limits: ExportLimits
    private let client: CollectorClient
    private let resource: [(String, String)]
    private let version: String
    private let signal = Signal()
    private let metrics: ExportMetrics
    private let logger: Logger

    /// - Parameters:
    ///   - service: `service.name` of the resource.
    ///   - instance: `service.instance.id`, which tells processes apart.
    package init(
        to collector: TraceCollector, service: String, instance: String, version: String,
        limits: ExportLimits = ExportLimits(), logger: Logger, factory: any MetricsFactory = MetricsSystem.factory
    ) {
        state = Mutex(State(queue: SpanQueue(capacity: limits.queue)))
        self.limits = limits
        client = CollectorClient(collector, within: limits.request)
        resource = [
            ("service.name", service), ("service.version", version), ("service.instance.id", instance),
        ]
        self.version = version
        metrics = ExportMetrics(factory)
        self.logger = logger
    }

    /// Buffers an ended span. Returns at once.
    func add(_ span: FinishedSpan) {
        let (isAdded, count) = state.withLock { ($0.queue.add(span), $0.queue.count) }
        guard isAdded else { return metrics.count(.queueFull, 1) }
        if count == 1 || count == limits.batch { signal.raise() }
    }

    /// Sends what is buffered without waiting for more.
    func flush() {
        state.withLock { $0.isUrgent = true }
        signal.raise()
    }

    /// Begins to export.
    package func start() {
        let task = Task { await run() }
        state.withLock { $0.task = task }
    }

    /// Sends what is buffered, once, for at most `limit`. What the collector hasn't taken by then is dropped.
    package func stop(within limit: Duration) async {
        let task = state.withLock { state in
            state.isStopping = true
            return state.task
        }
        signal.raise()
        let alarm = Task {
            try await Task.sleep(for: limit)
            task?.cancel()
        }
        await task?.value
        alarm.cancel()
        let rest = state.withLock { $0.queue.count }
        guard rest > 0 else { return }
        metrics.count(.failed, rest)
        logger.warning("spans were not exported", metadata: ["spans": .stringConvertible(rest)])
    }
}

// MARK: - Sending
extension SpanExporter {
    private func run() async {
        var plan = ExportPlan(limits)
        var isFailing = false
        while !Task.isCancelled {
            let (waiting, isUrgent, isStopping) = state.withLock { ($0.queue.count, $0.isUrgent, $0.isStopping) }
            let delay = isStopping ? (waiting > 0 ? .zero : nil) : plan.delay(waiting: waiting, isUrgent, at: .now)
            if isStopping, delay == nil { return }
            guard delay == .zero else {
                await signal.wait(atMost: delay)
                continue
            }
            let batch = state.withLock { state in
                state.isUrgent = false
                return state.queue.begin(limits.batch)
            }
            switch await send(batch) {
            case .failed(let delay, let reason):
                // At a stop nothing is tried twice.
                if isStopping || Task.isCancelled { return }
                plan.failed(retryAfter: delay, at: .now)
                logger.log(
                    level: isFailing ? .debug : .warning, "spans can't be exported: they wait, up to a number",
                    metadata: ["reason": "\(reason)"])
                isFailing = true
            case .refused(let reason):
                complete(&plan)
                metrics.count(.refused, batch.count)
                logger.warning(
                    "the collector refused spans",
                    metadata: ["spans": .stringConvertible(batch.count), "reason": "\(reason)"])
            case .taken(let refused):
                complete(&plan)
                metrics.count(.refused, min(refused, batch.count))
                metrics.count(.exported, batch.count - min(refused, batch.count))
                if isFailing { logger.notice("spans are exported again") }
                isFailing = false
            }
        }
    }

    private func complete(_ plan: inout ExportPlan) {
        plan.completed()
        state.withLock { $0.queue.complete() }
    }

    private func send(_ batch: [FinishedSpan]) async -> ExportOutcome {
        do {
            return await client.send(try ExportRequest(batch, resource: resource, version: version).body)
        } catch {
            return .refused(reason: "no JSON")
        }
    }
}

/// Counts what became of spans.
private struct ExportMetrics: Sendable {
    enum Outcome: String, CaseIterable {
        case exported, refused, failed
        case queueFull = "queue_full"
    }

    private let counters: [Outcome: Counter]

    init(_ factory: any MetricsFactory) {
        let pairs = Outcome.allCases.map { outcome in
            (
                outcome,
                Counter(label: "errand_spans_total", dimensions: [("outcome", outcome.rawValue)], factory: factory)
            )
        }
        counters = Dictionary(uniqueKeysWithValues: pairs)
    }

    func count(_ outcome: Outcome, _ spans: Int) {
        if spans > 0 { counters[outcome]?.increment(by: spans) }
    }
}
