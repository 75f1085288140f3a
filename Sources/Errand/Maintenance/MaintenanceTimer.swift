import Synchronization
import Waiting

/// The timers of a program's maintenance. Short tasks don't wait for long ones.
final class MaintenanceTimers: Sendable {
    let short = MaintenanceTimer(isLong: false)
    let long = MaintenanceTimer(isLong: true)

    /// The shortest delay between two calls from now on, unless something is found: older workers make enough of them.
    func set(pause: Duration) {
        for timer in [short, long] { timer.set(pause: pause) }
    }

    /// Ends the loops.
    func stop() {
        for timer in [short, long] { timer.stop() }
    }
}

/// When a loop of maintenance calls the database next.
final class MaintenanceTimer: Sendable {
    private struct State {
        var pause: Duration = .zero
        var nextCall: ContinuousClock.Instant
        var isStopped = false
    }

    /// The delay of the first call for long tasks: at its start a worker has jobs to claim.
    static let firstDelay: Duration = .seconds(5)

    /// Whether it is of the long tasks.
    let isLong: Bool
    private let state: Mutex<State>
    private let changed = Signal()

    init(isLong: Bool, firstDelay: Duration = MaintenanceTimer.firstDelay) {
        self.isLong = isLong
        state = Mutex(State(nextCall: .now + (isLong ? firstDelay : .zero)))
    }

    /// Waits until the next call. Returns false once stopped.
    func wait() async -> Bool {
        while true {
            let (rest, isStopped) = state.withLock { ($0.nextCall - .now, $0.isStopped) }
            guard !isStopped else { return false }
            guard rest > .zero else { return true }
            await changed.wait(atMost: rest)
        }
    }

    /// The last call has found that a task is due after this long.
    func call(after delay: Duration) { state.withLock { $0.nextCall = .now + max(delay, $0.pause) } }

    /// A probe has found that a task is due after this long. Until then no call is needed. If it is due now, this
    /// program runs it, also while it pauses.
    func found(after delay: Duration) {
        state.withLock { $0.nextCall = .now + (delay > .zero ? max(delay, $0.pause) : .zero) }
        changed.raise()
    }

    /// Whether older workers make enough calls.
    var isPausing: Bool { state.withLock { $0.pause > .zero } }

    func set(pause: Duration) {
        let isShorter = state.withLock { state in
            defer { state.pause = pause }
            guard pause < state.pause else { return false }
            state.nextCall = min(state.nextCall, .now + pause)
            return true
        }
        if isShorter { changed.raise() }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        changed.raise()
    }
}
