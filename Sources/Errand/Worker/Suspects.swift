import Synchronization

/// Limits the suspects that a worker holds, which are jobs that were running in a crash: one at a time over all of its
/// queues, or one more after the last one has run for a while.
///
/// So the next crash adds few suspects. A job that was in two crashes is on trial: the worker claims and begins nothing
/// else until the job has completed, so that a third crash is its own.
final class Suspects: Sendable {
    /// A suspect that runs for longer than this no longer blocks the next one.
    static let timeout: Duration = .seconds(5)

    private enum State: Equatable {
        case none
        /// A claim may return a suspect.
        case reserved
        case held(job: Int64, isOnTrial: Bool, since: Duration)
    }

    private let state = Mutex(State.none)

    /// Returns whether a claim may return a suspect. If so, ``claimed(_:at:)`` must follow.
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

    /// The claim with the reservation returned this suspect, or none.
    func claimed(_ job: ClaimedJob?, at now: Duration) {
        state.withLock { $0 = job.map { .held(job: $0.id, isOnTrial: $0.isOnTrial, since: now) } ?? .none }
    }

    /// The job has completed or was dropped here.
    func finished(_ job: ClaimedJob) {
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
    /// The job was in two crashes of its worker, so it must run alone.
    var isOnTrial: Bool { crashes >= 2 }
}
