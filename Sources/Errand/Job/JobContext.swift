import Logging
import Postgres
import Synchronization

/// What an attempt knows of itself and of the worker that runs it.
public struct JobContext: Sendable {
    let job: ClaimedJob
    /// The worker's database, for reads and writes of the handler's own.
    public let database: Database
    let baseLogger: Logger
    let control: AttemptControl

    /// Carries `job_id`, `kind`, `queue` and `attempt` with every line.
    public var logger: Logger {
        var logger = baseLogger
        logger[metadataKey: "job_id"] = "\(id)"
        logger[metadataKey: "kind"] = "\(kind)"
        logger[metadataKey: "queue"] = "\(queue)"
        logger[metadataKey: "attempt"] = "\(attempt)"
        return logger
    }

    /// The job's id, the same in every attempt.
    public var id: Int64 { job.id }
    public var kind: JobKind { job.kind }
    public var queue: String { job.queue }
    /// This attempt's number, counted from 1.
    public var attempt: Int { job.attempt }
    /// The attempt after which a failure is final.
    public var maxAttempts: Int { job.maxAttempts }
    /// When the job was enqueued, by the database's clock.
    public var createdAt: Timestamp { job.createdAt }

    /// Why the attempt was asked to stop; nil while it wasn't. Set before its task is cancelled.
    public var interruption: Interruption? { control.interruption }
}

/// Why an attempt was asked to stop.
public enum Interruption: String, Sendable, Hashable {
    /// It ran longer than its kind's policy allows.
    case deadline
    /// Ops cancelled the job: its end is on record already.
    case cancelled
    /// The worker lost its lease: the job runs elsewhere.
    case leaseLost = "lease lost"
    /// The worker stops, and its grace period is over.
    case shutdown
}

/// The switch that stops one attempt.
final class AttemptControl: Sendable {
    private let state = Mutex<(interruption: Interruption?, task: Task<Void, Never>?)>((nil, nil))

    var interruption: Interruption? { state.withLock { $0.interruption } }

    /// Names the task that runs the attempt; one that was interrupted before is cancelled here.
    func attach(_ task: Task<Void, Never>) {
        let isInterrupted = state.withLock { state in
            state.task = task
            return state.interruption != nil
        }
        if isInterrupted { task.cancel() }
    }

    /// Asks the attempt to stop. The first reason stays.
    func interrupt(_ interruption: Interruption) {
        let task = state.withLock { state in
            state.interruption = state.interruption ?? interruption
            return state.task
        }
        task?.cancel()
    }
}
