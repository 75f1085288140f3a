import Synchronization

/// A worker's ``MaintenanceElection``, for its lease keeper and its probes, which change it, and for its maintenance.
final class WorkerElection: Sendable {
    private struct State {
        var election: MaintenanceElection
        var begin: @Sendable () -> Void = {}
    }

    private let state: Mutex<State>
    private let start = ContinuousClock.now

    init(lease: Duration) { state = Mutex(State(election: MaintenanceElection(lease: lease))) }

    var isElected: Bool { state.withLock { $0.election.isElected(at: uptime) } }

    var promotionDelay: Duration { state.withLock { $0.election.promotionDelay } }

    /// Sets what is called each time the worker is elected.
    func onElection(_ begin: @escaping @Sendable () -> Void) { state.withLock { $0.begin = begin } }

    func counted(older: Int, younger: Int) {
        change { election, _ in election.counted(older: older, younger: younger) }
    }

    func foundOverdue() { change { election, now in election.foundOverdue(at: now) } }

    private func change(_ body: (inout MaintenanceElection, Duration) -> Void) {
        let now = uptime
        let begin = state.withLock { state in
            let wasElected = state.election.isElected(at: now)
            body(&state.election, now)
            return !wasElected && state.election.isElected(at: now) ? state.begin : nil
        }
        begin?()
    }

    private var uptime: Duration { ContinuousClock.now - start }
}
