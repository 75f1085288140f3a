import Synchronization

/// Which of the jobs that a worker holds was running in a crash before: one at a time, over all of its queues, or one
/// more once the last one has run for a while.
///
/// So the next crash adds few suspects. One that was in two crashes is on trial: the worker claims nothing and begins
/// nothing else until it has ended, and only what it does alone is held against it.
final class Suspects: Sendable {
    /// A job that runs for longer than this holds up no other suspect.
    static let timeout: Duration = .seconds(5)

    private enum State: Equatable {
        case none
        /// A claim may bring one.
        case reserved
        case held(job: Int64, isOnTrial: Bool, since: Duration)
    }

    private let state = Mutex(State.none)

    /// Whether a claim may bring one. If so, ``claimed(_:at:)`` says what it brought.
    func reserve(at now: Duration) -> Bool {
        state.withLock { state in
            switch state {
            case .reserved, .held(job: _, isOnTrial: true, since: _): return false
            case .held(job: _, isOnTrial: false, let since) where now - since < Self.timeout: return false
            case .held, .none:
                state = .reserved
                return true
            }
        }
    }

    /// The claim that had reserved it brought this one, or none.
    func claimed(_ job: ClaimedJob?, at now: Duration) {
        state.withLock { $0 = job.map { .held(job: $0.id, isOnTrial: $0.isOnTrial, since: now) } ?? .none }
    }

    /// The job has ended here, in whatever way.
    func ended(_ job: ClaimedJob) {
        guard job.crashes > 0 else { return }
        state.withLock { state in
            if case .held(job: job.id, isOnTrial: _, since: _) = state { state = .none }
        }
    }

    var isOnTrial: Bool {
        state.withLock { if case .held(job: _, isOnTrial: true, since: _) = $0 { true } else { false } }
    }
}

extension ClaimedJob {
    /// It was in two crashes of its worker: it is to run alone.
    var isOnTrial: Bool { crashes >= 2 }
}
