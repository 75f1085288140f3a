/// How a worker process runs. Every default holds for a process of its own on a two-core machine.
public struct WorkerConfiguration: Sendable {
    /// The queues to claim from, with how many jobs of each may run here at once. Jobs that take no time are
    /// prefetched, as many as begin within 20 ms, and a deep queue is claimed from over two connections by turns.
    public var queues: [String: Int] = ["default": 10]
    /// Most jobs in one claim, 1...1000. A claim takes some 15 us a job, and one commit: in a deep queue, claims of 500
    /// drain a quarter faster than claims of 100.
    public var batch = 500
    /// The most database connections for claims and completions, at least 1. All queues share them: the one that has
    /// waited longest comes next. A busy queue uses up to two.
    public var claimConnections = 6
    /// How long a worker that stays silent keeps its jobs, at least three heartbeats.
    public var lease: Duration = .seconds(20)
    /// The time between two heartbeats.
    public var beat: Duration = .seconds(5)
    /// How long running jobs may go on after a stop was asked for; the rest is handed back then.
    public var grace: Duration = .seconds(25)
    /// The delay between two probes for due jobs if there are no wake-ups; twice that is the longest a due job waits
    /// whose wake-up was lost.
    public var pollInterval: Duration = .milliseconds(250)
    /// False turns wake-ups off: the worker polls only. Behind a transaction pooler they are off by themselves.
    public var listens = true
    /// Bytes of memory that attempts may take together here, as far as kinds and handlers say what they need; nil is no
    /// budget.
    public var memory: Int?
    /// Whether the worker runs ``Housekeeping`` too, over up to two connections of its own. Default true: failed jobs come
    /// back, and old ones are deleted, without another process. Any number of workers may do so at once. False leaves that
    /// to another process, such as `errand scheduler`.
    public var housekeeping = true
    /// What people see in `errand.worker`.
    public var name = "worker"
    public var version = "0"

    /// Called on a thread of its own if a queue's loop has stood still for longer than the lease, or handlers have
    /// blocked all of Swift's threads for as long: this worker does nothing any more, and what it holds nobody else may
    /// run while it sends heartbeats. It gets the reason, and should end the process with a code other than 0, as
    /// `errand worker` does; its jobs become available again when the lease is over. Nil watches nothing.
    public var onStandstill: (@Sendable (_ reason: String) -> Void)?

    /// Told of every round trip; for measuring.
    package var onRoundTrip: (@Sendable (RoundTripReport) -> Void)?
    /// Told of every completion that was written, in the order in which they were; for tests.
    package var onCompletions: (@Sendable ([Completion]) -> Void)?

    public init() {}
}

/// What one round trip of a queue did: completions written and jobs claimed, in one transaction.
package struct RoundTripReport: Sendable {
    package let finished: Int
    package let claimed: Int
    package let took: Duration
}
