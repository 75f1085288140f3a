import Logging
import Postgres
import Synchronization

/// The parts of a worker that its claims, its lease and its reports use.
final class ClaimEnvironment: Sendable {
    let configuration: WorkerConfiguration
    let connections: WorkerConnections
    let identity = Identity()
    let idle: IdleState
    let stop: StopRequest
    let attempts: Attempts
    let attemptEnvironment: AttemptEnvironment
    let written: WrittenCompletions
    let capacity: SharedCapacity
    let logger: Logger
    private let known = Mutex<[String]>([])

    init(
        configuration: WorkerConfiguration, connections: WorkerConnections, stop: StopRequest, attempts: Attempts,
        in attemptEnvironment: AttemptEnvironment, written: WrittenCompletions, capacity: SharedCapacity, logger: Logger
    ) {
        self.configuration = configuration
        self.connections = connections
        self.stop = stop
        self.attempts = attempts
        self.attemptEnvironment = attemptEnvironment
        self.written = written
        self.capacity = capacity
        self.logger = logger
        idle = IdleState(pollInterval: configuration.pollInterval)
    }

    /// The kinds that it claims: those of its program but for apps that the database lacks, and those that SQL
    /// functions and endpoints handle.
    var kinds: [String] { known.withLock(\.self) }

    func set(kinds: [String]) { known.withLock { $0 = kinds } }

    var metrics: WorkerMetrics? { written.metrics }
}
