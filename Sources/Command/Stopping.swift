import Dispatch
import Foundation
import Logging
import Postgres
import Synchronization

/// SIGTERM and SIGINT: the first asks for a graceful end, a later one for an end at once; see ``StopRequests``.
enum Stopping {
    private static let state = Mutex((requests: StopRequests(), waiters: [CheckedContinuation<Void, Never>]()))
    /// Signals are heard and the end is enforced here: a handler that blocks all of Swift's shared threads holds up neither.
    private static let queue = DispatchQueue(label: "errand.stopping")

    /// Runs `serve` to its end; signals end it earlier, first gently, then by cancelling it.
    ///
    /// - Parameter limit: how long the end may take. After that, or 2 s after a later signal, the process exits with 1.
    static func run(within limit: Duration, _ serve: @escaping @Sendable () async throws -> Void) async throws {
        let start = AsyncStream<Void>.makeStream()
        let serving = Task {
            // Not before the signals are heard.
            for await _ in start.stream { break }
            try await serve()
        }
        var sources: [any DispatchSourceSignal] = []
        for number in [SIGTERM, SIGINT] {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { heard(serving, limit: limit) }
            sources.append(source)
            await withCheckedContinuation { continuation in
                source.setRegistrationHandler { continuation.resume() }
                source.resume()
            }
        }
        defer { sources.forEach { $0.cancel() } }
        start.continuation.yield()
        do {
            try await serving.value
        } catch  where wasCancelled(by: error) {
            // Ended before it had begun to serve, as it was told to.
        }
    }

    /// Returns at the first signal.
    static func requested() async {
        await withCheckedContinuation { continuation in
            let isRequested = state.withLock { state in
                if !state.requests.isRequested { state.waiters.append(continuation) }
                return state.requests.isRequested
            }
            if isRequested { continuation.resume() }
        }
    }

    /// Passes a signal on: a later one, or one that comes before anybody serves, ends the work at once.
    private static func heard(_ serving: Task<Void, any Error>, limit: Duration) {
        let (step, waiters) = state.withLock { state in
            defer { state.waiters = [] }
            return (state.requests.heard(at: .now), state.waiters)
        }
        guard step != .ignored else { return }
        waiters.forEach { $0.resume() }
        if step == .atOnce || waiters.isEmpty { serving.cancel() }
        let timeout = step == .graceful ? limit : .seconds(2)
        queue.asyncAfter(deadline: .now() + timeout / .seconds(1)) {
            LogWriter.standardError.write(
                "errand: what was running did not end within \(timeout) of the signal; its leases run out\n")
            LogWriter.standardError.flush(within: .seconds(1))
            _exit(Failure.failed)
        }
    }

    /// Ends the process with 1 at once: a worker that stands still can't hand its jobs back. They run elsewhere when its
    /// lease has run out.
    static func end(becauseOf standstill: String, _ logger: Logger) {
        logger.critical(
            "this worker stands still and ends: its jobs run elsewhere when its lease has run out",
            metadata: ["reason": "\(standstill)"])
        LogWriter.standardError.flush(within: .seconds(1))
        _exit(Failure.failed)
    }

    private static func wasCancelled(by error: any Error) -> Bool {
        let isCancellation = error is CancellationError || (error as? PostgresError)?.code == .cancelled
        return isCancellation && state.withLock { $0.requests.isRequested }
    }
}
