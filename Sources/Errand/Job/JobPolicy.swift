/// How the jobs of a kind are run. An enqueue may choose another queue, priority and number of attempts for its job.
public struct JobPolicy: Sendable, Hashable {
    /// The queue that jobs of the kind go to.
    public var queue: String
    /// 1 (first) to 4 (last).
    public var priority: Int
    /// How long one attempt may take before it is cancelled and counts as failed.
    public var deadline: Duration
    /// How often, and after which pauses, a failed attempt is repeated.
    public var retry: RetryPolicy

    public init(
        queue: String = "default",
        priority: Int = 2,
        deadline: Duration = .seconds(300),
        retry: RetryPolicy = .exponential()
    ) {
        precondition((1...4).contains(priority), "priority: expected 1 to 4, got \(priority)")
        self.queue = queue
        self.priority = priority
        self.deadline = deadline
        self.retry = retry
    }
}
