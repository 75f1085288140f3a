import Logging
import Postgres

/// The parts of a worker that its claims and its lease use.
final class ClaimEnvironment: Sendable {
    let configuration: WorkerConfiguration
    let kinds: [String]
    let connections: WorkerConnections
    let identity = Identity()
    let idle: IdleState
    let stop: StopRequest
    let attempts: Attempts
    let written: WrittenCompletions
    let capacity: SharedCapacity
    let logger: Logger

    init(
        configuration: WorkerConfiguration, connections: WorkerConnections, stop: StopRequest, attempts: Attempts,
        written: WrittenCompletions, capacity: SharedCapacity, logger: Logger
    ) {
        self.configuration = configuration
        self.connections = connections
        self.stop = stop
        self.attempts = attempts
        self.written = written
        self.capacity = capacity
        self.logger = logger
        kinds = attempts.environment.handlers.kinds.map(\.rawValue)
        idle = IdleState(pollInterval: configuration.pollInterval)
    }

    var metrics: WorkerMetrics? { written.metrics }
}
