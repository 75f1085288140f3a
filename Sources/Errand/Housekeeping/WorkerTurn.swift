import Synchronization

/// A worker's ``MaintenanceTurn``, for its lease keeper and its probes, which change it, and for its housekeeping.
final class WorkerTurn: Sendable {
    private struct State {
        var turn: MaintenanceTurn
        var begin: @Sendable () -> Void = {}
    }

    private let state: Mutex<State>
    private let start = ContinuousClock.now

    init(lease: Duration) { state = Mutex(State(turn: MaintenanceTurn(lease: lease))) }

    var isOn: Bool { state.withLock { $0.turn.isOn(at: uptime) } }

    var promotionDelay: Duration { state.withLock { $0.turn.promotionDelay } }

    /// Sets what is called each time when its turn begins.
    func onBegin(_ begin: @escaping @Sendable () -> Void) { state.withLock { $0.begin = begin } }

    func counted(older: Int, younger: Int) { change { turn, _ in turn.counted(older: older, younger: younger) } }

    func foundOverdue() { change { turn, now in turn.foundOverdue(at: now) } }

    private func change(_ body: (inout MaintenanceTurn, Duration) -> Void) {
        let now = uptime
        let begin = state.withLock { state in
            let wasOn = state.turn.isOn(at: now)
            body(&state.turn, now)
            return !wasOn && state.turn.isOn(at: now) ? state.begin : nil
        }
        begin?()
    }

    private var uptime: Duration { ContinuousClock.now - start }
}
