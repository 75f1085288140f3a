/// The outcome of an attempt, with the database's word for it. Completions, metrics, spans and tests share it.
public enum AttemptOutcome: String, Sendable, Hashable, Encodable {
    /// The job succeeded.
    case succeeded
    /// The attempt failed, and another one follows.
    case retried
    /// The job runs again later. The attempt is not counted.
    case snoozed
    /// The job waits for a circuit. The attempt is not counted.
    case parked
    /// The job waits for a signal. The attempt is not counted.
    case waiting
    /// The worker stopped and handed the job back. The attempt is not counted.
    case released
    /// The attempt failed, and no other follows.
    case failed
    /// The handler cancelled the job.
    case cancelled
    /// The job's guard rejected it.
    case obsolete
}

extension AttemptOutcome: CustomStringConvertible {
    public var description: String { rawValue }

    /// Whether the attempt failed, with or without another one to follow.
    var isFailure: Bool { self == .retried || self == .failed }

    /// Whether no attempt follows this outcome.
    var isFinal: Bool {
        switch self {
        case .succeeded, .failed, .cancelled, .obsolete: true
        case .retried, .snoozed, .parked, .waiting, .released: false
        }
    }
}
