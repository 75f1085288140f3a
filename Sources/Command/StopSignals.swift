import Dispatch
import Foundation
import Logging
import Postgres
import Synchronization

/// Handles the signals that request a graceful or an immediate stop; see ``StopRequests``.
enum StopSignals {
    private struct State {
        var requests = StopRequests()
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// The name of the first signal.
        var name: String?
    }

    private static let state = Mutex(State())
    /// Signals are handled and the stop is enforced on this queue, even if handlers block all of Swift's shared
    /// threads.
    private static let queue = DispatchQueue(label: "errand.stopping")

    /// Runs `serve`. Signals stop it, gracefully or by cancellation. SIGHUP is ignored if it was before, by nohup(1).
    ///
    /// - Parameters:
    ///   - limit: how long the stop may take. After that, or 2 s after the request of an immediate stop, the process
    ///     exits with 1.
    ///   - log: writes the line of that end.
    static func run(within limit: Duration, log: ProcessLog, _ serve: @escaping @Sendable () async throws -> Void)
        async throws
    {
        let start = AsyncStream<Void>.makeStream()
        let serving = Task {
            // Not before the signal handlers are installed.
            for await _ in start.stream { break }
            try await serve()
        }
        var sources: [any DispatchSourceSignal] = []
        for number in StopRequests.signals.keys where number != SIGHUP || !isIgnored(number) {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { heard(number, serving, limit: limit, log: log) }
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
            // Stopped before it began to serve.
        }
    }

    /// The name of the first signal; nil if there was none.
    static var received: String? { state.withLock(\.name) }

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

    /// Handles a signal. One before serving began stops the work immediately.
    private static func heard(
        _ signal: Int32, _ serving: Task<Void, any Error>, limit: Duration, log: ProcessLog
    ) {
        let (step, waiters) = state.withLock { state in
            defer { state.waiters = [] }
            state.name = state.name ?? StopRequests.signals[signal]
            return (state.requests.heard(signal, at: .now), state.waiters)
        }
        guard step != .ignored else { return }
        waiters.forEach { $0.resume() }
        if step == .atOnce || waiters.isEmpty { serving.cancel() }
        let timeout = step == .graceful ? limit : .seconds(2)
        queue.asyncAfter(deadline: .now() + timeout / .seconds(1)) {
            log.failed(
                Failure(
                    code: Failure.failed,
                    "running work did not end within \(timeout) of the signal; its leases expire"))
            LogWriter.standardError.flush(within: .seconds(1))
            _exit(Failure.failed)
        }
    }

    /// Exits with 1 immediately: a worker that hangs can't release its jobs. They run elsewhere after its
    /// lease expires.
    static func end(becauseOf standstill: String, _ logger: Logger) {
        logger.critical(
            "this worker stands still and exits: its jobs run elsewhere after its lease expires",
            metadata: ["reason": "\(standstill)"])
        LogWriter.standardError.flush(within: .seconds(1))
        _exit(Failure.failed)
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        sigaction(signal, nil, &action)
        // Functions can't be compared, but their addresses can.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private static func wasCancelled(by error: any Error) -> Bool {
        let isCancellation = error is CancellationError || (error as? PostgresError)?.code == .cancelled
        return isCancellation && state.withLock { $0.requests.isRequested }
    }
}
