import Logging
import Synchronization
import Waiting

/// A maintenance task that is repeated.
protocol MaintenanceTask: Sendable {
    var name: String { get }
    /// The delay before the first run.
    var firstDelay: Duration { get }
    /// Runs the task once, and returns the delay until its next run.
    mutating func once() async throws -> MaintenanceDelay
    mutating func failed()
}

extension MaintenanceTask {
    var firstDelay: Duration { .zero }
}

/// Repeats a maintenance task until it is stopped; after a failure it backs off.
final class MaintenanceLoop: Sendable {
    private let logger: Logger
    private let signal = Signal()
    private let isStopped = Atomic<Bool>(false)
    private let mayRun: @Sendable () -> Bool

    /// - Parameter mayRun: whether the task is this process's now. Call ``wake()`` when that becomes true.
    init(_ logger: Logger, mayRun: @escaping @Sendable () -> Bool = { true }) {
        self.logger = logger
        self.mayRun = mayRun
    }

    /// There is something to do for a task that waits until it is woken. Any other delay goes on.
    func wake() { signal.raise() }

    /// Ends ``run(_:)`` after the running statement.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        signal.raise()
    }

    func run(_ task: consuming some MaintenanceTask) async {
        var task = task
        var backoff = Backoff()
        var throttle = LogThrottle()
        await rest(.after(task.firstDelay))
        while !isStopped.load(ordering: .acquiring) {
            guard mayRun() else {
                await signal.wait(atMost: MaintenanceDelay.longest)
                continue
            }
            do {
                let delay = try await task.once()
                backoff.reset()
                await rest(delay)
            } catch {
                task.failed()
                let delay = backoff.next()
                if throttle.allowsLine() {
                    logger.warning(
                        "maintenance is interrupted",
                        metadata: [
                            "task": "\(task.name)", "error": "\(error)",
                            "retry_in_seconds": .stringConvertible(delay / .seconds(1)),
                        ])
                }
                await rest(.after(delay))
            }
        }
    }

    private func rest(_ delay: MaintenanceDelay) async {
        switch delay {
        case .untilWoken(let longest):
            await signal.wait(atMost: longest)
        case .after(let delay):
            let end = ContinuousClock.now + delay
            while !isStopped.load(ordering: .acquiring), await signal.wait(atMost: end - .now) {}
        }
    }
}
