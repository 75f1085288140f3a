import Foundation

/// The settings of a worker. The defaults suit a dedicated process on a two-core machine.
public struct WorkerConfiguration: Sendable {
    /// The queues to claim from, with the number of jobs of each that may run here at once. Short jobs are prefetched,
    /// as many as begin within 20 ms. A backlog is claimed over two connections.
    public var queues: [String: Int] = ["default": 10]
    /// The most jobs in one claim, 1...1000. A claim takes some 15 µs per job, and one commit. In a backlog, claims
    /// of 500 drain a quarter faster than claims of 100.
    public var batch = 500
    /// The most database connections for claims and completions, at least 1. All queues share them, first come, first
    /// served. A busy queue uses up to two.
    public var claimConnections = 6
    /// The database connections that call SQL functions (`errand.put_handler`), and so how many run here at once. They
    /// are opened when they are needed. 0: their jobs are left to other workers.
    public var functionConnections = 2
    /// How long a worker without heartbeats keeps its jobs; at least three heartbeat intervals.
    public var lease: Duration = .seconds(20)
    /// The time between two heartbeats.
    public var heartbeatInterval: Duration = .seconds(5)
    /// How long running jobs may go on after a stop. Then they are handed back.
    public var grace: Duration = .seconds(25)
    /// The delay between two probes for due jobs without wake-ups. A due job whose wake-up was lost waits at most four
    /// times as long. Many idle workers share the probes: each probes less often, down to once in 64 times this
    /// delay.
    public var pollInterval: Duration = .milliseconds(250)
    /// False turns wake-ups off, so that the worker only polls. Behind a transaction pooler they turn off
    /// automatically.
    public var listens = true
    /// The memory in bytes that attempts on this worker may take together, as declared by kinds and handlers; nil is no
    /// budget.
    public var memory: Int?
    /// Whether the worker runs ``Maintenance`` too, over up to two connections of its own. Default true: failed jobs
    /// come back, and old ones are deleted, without another process. Of many workers the three oldest do it, and the
    /// next ones take over. False leaves it to another process, such as `errand scheduler`.
    public var maintenance = true
    /// Whether the log line of a failed attempt has the error's text as `reason`. The text may quote the payload, so
    /// this is for development. By default the line has the error's class and its `error_id` in
    /// `errand.failures`.
    public var logsErrorTexts = false
    /// The name of the database among several of this process. Metrics and log lines have it as `cell`; nil leaves it
    /// out.
    public var cell: String?
    /// The worker's name in `errand.worker`; by default the host and the process id.
    public var name = Self.processName
    public var version = "0"

    /// Called on a thread of its own if a queue's loop made no progress for longer than the lease, or if handlers
    /// blocked all of Swift's threads for three times as long. Such a worker does nothing, and no other worker may run
    /// its jobs while it sends heartbeats. The closure gets the reason, and should end the process with a nonzero code,
    /// as `errand worker` does. The jobs become available again when the lease is over. Nil turns the watchdog off.
    public var onStandstill: (@Sendable (_ reason: String) -> Void)?

    /// Posts jobs to endpoints (`errand.put_http_handler`). Nil: they are left to other workers.
    package var endpoints: (any EndpointCaller)?

    /// Called after every round trip; for benchmarks.
    package var onRoundTrip: (@Sendable (RoundTripReport) -> Void)?
    /// Called with written completions, in their order; for tests.
    package var onCompletions: (@Sendable ([Completion]) -> Void)?

    public init() {}

    private static let processName = "\(ProcessInfo.processInfo.hostName):\(ProcessInfo.processInfo.processIdentifier)"
}

/// What one round trip of a queue did: completions written and jobs claimed, in one transaction.
package struct RoundTripReport: Sendable {
    package let finished: Int
    package let claimed: Int
    package let took: Duration
}
