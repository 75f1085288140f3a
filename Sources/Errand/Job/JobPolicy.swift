/// How the jobs of a kind are run. An enqueue may choose another queue, priority, number of attempts and limit for its
/// job.
public struct JobPolicy: Sendable, Hashable {
    /// The queue that jobs of the kind go to.
    public var queue: String
    /// 1 (first) to 4 (last).
    public var priority: Int
    /// How long one attempt may take before it is cancelled and counts as failed. Waiting for memory counts.
    public var deadline: Duration
    /// How often, and after which pauses, a failed attempt is repeated.
    public var retry: RetryPolicy
    /// How many jobs of the kind run at once, over all workers; nil is no limit. It is stored as the limit `kind/NAME`
    /// when a worker brings another number than before; ops may change it there at any time.
    public var limit: Int?
    /// What jobs of the kind need from outside: while it is known to be down, none is started.
    public var dependency: String?
    /// How long ended jobs of the kind are kept.
    public var retention: JobRetention
    /// Bytes of memory that an attempt takes at its height. One starts only within the worker's memory budget.
    public var memory: Int

    public init(
        queue: String = "default",
        priority: Int = 2,
        deadline: Duration = .seconds(300),
        retry: RetryPolicy = .exponential(),
        limit: Int? = nil,
        dependency: String? = nil,
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
        self.dependency = dependency
        self.retention = retention
        self.memory = memory
    }
}

/// How long ended jobs of a kind are kept; nil is as long as all others: 7 days, failed ones 30.
public struct JobRetention: Sendable, Hashable {
    /// Jobs that succeeded, were cancelled or became obsolete. Less than others makes housekeeping look for them.
    public var ended: Duration?
    /// Jobs that failed.
    public var failed: Duration?

    public init(ended: Duration? = nil, failed: Duration? = nil) {
        self.ended = ended
        self.failed = failed
    }
}
