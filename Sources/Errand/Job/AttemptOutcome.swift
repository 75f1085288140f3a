/// What became of an attempt: one word for completions, metrics, spans and tests, as the database has it.
public enum AttemptOutcome: String, Sendable, Hashable, Encodable {
    /// The job has ended well.
    case succeeded
    /// It failed, and another attempt follows.
    case retried
    /// The job comes back later, with the attempt uncounted.
    case snoozed
    /// The job waits for a dependency, with the attempt uncounted.
    case parked
    /// The job went back to the queue, uncounted: the worker stopped.
    case released
    /// It failed, and no other follows.
    case failed
    /// The job has ended: its handler found that it isn't wanted.
    case cancelled
    /// The job has ended: its guard said no.
    case obsolete
}

extension AttemptOutcome: CustomStringConvertible {
    public var description: String { rawValue }

    /// Whether the attempt failed, with or without another one to follow.
    var isFailure: Bool { self == .retried || self == .failed }

    /// Whether the job has ended with it.
    var endsJob: Bool {
        switch self {
        case .succeeded, .failed, .cancelled, .obsolete: true
        case .retried, .snoozed, .parked, .released: false
        }
    }
}
