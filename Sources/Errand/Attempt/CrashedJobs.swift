import Synchronization

/// Limits the crashed jobs that the workers of a process claim, which were running in a crash of their worker: one at a
/// time over all queues, or one more after the last one has run for a while.
///
/// So the next crash adds few of them. A job that was in two crashes runs alone: the worker claims and begins nothing
/// else until the job has completed, so that a third crash is its own.
final class CrashedJobs: Sendable {
    /// A crashed job that runs for longer than this no longer blocks the next one.
    static let timeout: Duration = .seconds(5)

    private enum State: Equatable {
        case none
        /// A claim may return a crashed job.
        case reserved
        case held(job: Int64, runsAlone: Bool, since: Duration)
    }

    private let state = Mutex(State.none)

    /// Returns whether a claim may return a crashed job. If so, ``claimed(_:at:)`` must follow.
    func reserve(at now: Duration) -> Bool {
        state.withLock { state in
            switch state {
            case .reserved, .held(job: _, runsAlone: true, since: _): return false
            case .held(job: _, runsAlone: false, let since) where now - since < Self.timeout: return false
            case .held, .none:
                state = .reserved
                return true
            }
        }
    }

    /// The claim with the reservation returned this crashed job, or none.
    func claimed(_ job: ClaimedJob?, at now: Duration) {
        state.withLock { $0 = job.map { .held(job: $0.id, runsAlone: $0.runsAlone, since: now) } ?? .none }
    }

    /// The job has completed or was dropped here.
    func finished(_ job: ClaimedJob) {
        guard job.crashes > 0 else { return }
        state.withLock { state in
            if case .held(job: job.id, runsAlone: _, since: _) = state { state = .none }
        }
    }

    var runsAlone: Bool {
        state.withLock { if case .held(job: _, runsAlone: true, since: _) = $0 { true } else { false } }
    }
}

extension ClaimedJob {
    /// The job was in two crashes of its worker, so it must run alone.
    var runsAlone: Bool { crashes >= 2 }
}
