import Postgres

extension WorkerConfiguration {
    /// The statement that registers a worker with its kinds. It returns a new worker id and marks to start with.
    ///
    /// - Parameters:
    ///   - earlier: the process's ids that still have a lease. If one is drained, the new one is.
    ///   - sharesSlots: workers of other databases share the slots.
    ///   - callsFunctions: it also runs the kinds whose handler is a SQL function.
    package func registration(
        of handlers: Handlers, earlier: [Int64] = [], sharesSlots: Bool = false, callsFunctions: Bool = false
    ) throws -> Statement {
        let queues = queues.sorted { $0.key < $1.key }
        let slots = queues.map { Int32(clamping: $0.value) }
        return Statement(
            """
            select *
            from errand_internal.register_worker_v1(
                $1, $2, $3 * interval '1 microsecond', $4, $5, $6, $7, $8, $9 * interval '1 microsecond', $10, $11,
                $12)
            """,
            [
                name, version, lease.wholeMicroseconds, queues.map(\.key), try handlers.known, earlier,
                Int32(clamping: queues.reduce(0) { $0 + $1.value }), maintenance,
                heartbeatInterval.wholeMicroseconds, sharesSlots ? nil : slots, callsFunctions, endpoints != nil,
            ])
    }
}

extension Handlers {
    /// The kinds with their policies, as errand_internal.register_kinds takes them.
    package var known: JSONB {
        get throws { try JSONB(encoding: entries.map { KnownKind($0, $1) }) }
    }

    /// The default queues of these kinds.
    package var queues: Set<String> { Set(entries.values.map(\.policy.queue)) }
}

/// A kind with its policy, as errand_internal.register_kinds takes it.
private struct KnownKind: Encodable {
    let name: String
    let app: String?
    let queue: String
    let max_attempts: Int
    let priority: Int
    let is_whole = true
    let max_running: Int?
    let rate_key: String?
    let circuits: [String]?
    let keep_ended_s: Double?
    let keep_failed_s: Double?
    let retry_delays_s: [Double]
    let retry_jitter: Double
    let on_failure: String?
    let order_key: String?
    let if_head_fails: String?

    init(_ kind: JobKind, _ entry: Handlers.Entry) {
        let policy = entry.policy
        name = kind.rawValue
        app = entry.app
        queue = policy.queue
        max_attempts = policy.retry.attempts
        priority = policy.priority
        max_running = policy.limit
        rate_key = policy.rateKey
        circuits = policy.circuits.isEmpty ? nil : policy.circuits
        keep_ended_s = policy.retention.ended.map { Double($0.wholeMilliseconds) / 1000 }
        keep_failed_s = policy.retention.failed.map { Double($0.wholeMilliseconds) / 1000 }
        retry_delays_s = policy.retry.bounds.map { Double($0.wholeMilliseconds) / 1000 }
        retry_jitter = policy.retry.jitter
        on_failure = entry.onFailure?.rawValue
        order_key = policy.order?.key
        if_head_fails = policy.order?.ifHeadFails.rawValue
    }
}
