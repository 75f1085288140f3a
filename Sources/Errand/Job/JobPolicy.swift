/// How the jobs of a kind run. An enqueue can choose another queue, priority, number of attempts, limit and rate for
/// its job.
public struct JobPolicy: Sendable, Hashable {
    /// The queue that jobs of the kind go to.
    public var queue: String
    /// 1 (first) to 4 (last).
    public var priority: Int
    /// How long one attempt may take before it is cancelled and counts as failed, including its wait for memory.
    public var deadline: Duration
    /// How often, and after which delays, a failed attempt is retried.
    public var retry: RetryPolicy
    /// How many jobs of the kind run at once, over all workers; nil is no limit. A worker stores a changed number as
    /// the limit `kind/NAME` when it registers. Operators can change the limit at any time.
    public var limit: Int?
    /// The key of the rate under which jobs of the kind start, over all workers; nil is none. Operators set rates with
    /// `errand.set_key_rate`.
    public var rateKey: String?
    /// How jobs of the kind run one after the other; nil is side by side.
    public var order: OrderPolicy?
    /// The circuits of what jobs of the kind need: none is started while one of them is open.
    public var circuits: [String]
    /// How long ended jobs of the kind are kept.
    public var retention: JobRetention
    /// The peak memory of an attempt, in bytes. An attempt starts only within the worker's memory budget.
    public var memory: Int

    public init(
        queue: String = "default",
        priority: Int = 2,
        deadline: Duration = .seconds(300),
        retry: RetryPolicy = .exponential(),
        limit: Int? = nil,
        rateKey: String? = nil,
        order: OrderPolicy? = nil,
        circuits: [String] = [],
        retention: JobRetention = JobRetention(),
        memory: Int = 0
    ) {
        precondition((1...4).contains(priority), "priority: expected 1 to 4, got \(priority)")
        precondition(limit.map { $0 >= 1 } ?? true, "limit: expected at least 1, got \(limit ?? 0)")
        precondition(memory >= 0, "memory: expected at least 0, got \(memory)")
        self.queue = queue
        self.priority = priority
        self.deadline = deadline
        self.retry = retry
        self.limit = limit
        self.rateKey = rateKey
        self.order = order
        self.circuits = circuits
        self.retention = retention
        self.memory = memory
    }
}

extension JobPolicy {
    /// What travels with an enqueue, as `errand.enqueue` has it: the defaults for a kind that no worker has registered
    /// yet. Nil if they are those of all kinds.
    func kindDefaults(of kind: JobKind) throws -> JSONB? {
        let limitKey = limit.map { _ in "kind/\(kind.rawValue)" }
        let defaults = KindDefaults(
            queue: queue, priority: priority, max_attempts: retry.attempts, limit_key: limitKey,
            rate_key: rateKey,
            order_key: order?.key, if_head_fails: order?.ifHeadFails.rawValue)
        return defaults == .ofAll ? nil : try JSONB(encoding: defaults)
    }

    private struct KindDefaults: Encodable, Equatable {
        let queue: String
        let priority: Int
        let max_attempts: Int
        let limit_key: String?
        let rate_key: String?
        let order_key: String?
        let if_head_fails: String?

        static let ofAll = KindDefaults(
            queue: "default", priority: 2, max_attempts: 10, limit_key: nil, rate_key: nil, order_key: nil,
            if_head_fails: nil)
    }
}

/// How jobs of a kind run one after the other: ``EnqueueOption/ordered(by:ifHeadFails:)``.
public struct OrderPolicy: Sendable, Hashable {
    /// The order key of all jobs of the kind, unless an enqueue names another one. Nil is none: enqueues name them.
    public var key: String?
    /// What a failure of one of them does to those behind it, unless an enqueue says it.
    public var ifHeadFails: HeadFailure

    public init(by key: String? = nil, ifHeadFails: HeadFailure = .block) {
        precondition(
            key.map { (1...500).contains($0.unicodeScalars.count) } ?? true, "key: expected 1 to 500 characters")
        self.key = key
        self.ifHeadFails = ifHeadFails
    }
}

/// What becomes of the jobs of an order key if one of them fails for good.
public enum HeadFailure: String, Sendable, Hashable, CaseIterable {
    /// They wait until it is retried or discarded: `errand.blocked_keys` lists such keys.
    case block
    /// The next one starts.
    case goOn = "go_on"
}

/// How long ended jobs of a kind are kept: at least a day. Nil is the default: 7 days, and 30 days for failed jobs.
public struct JobRetention: Sendable, Hashable {
    /// Jobs that succeeded, were cancelled or became obsolete. Maintenance deletes them one by one if this is less
    /// than the default.
    public var ended: Duration?
    /// Jobs that failed.
    public var failed: Duration?

    public init(ended: Duration? = nil, failed: Duration? = nil) {
        self.ended = ended
        self.failed = failed
    }
}
