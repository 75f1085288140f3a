import Postgres
import Synchronization
import Waiting

/// Waits for the ends of jobs, for all waits of a queue together: one connection listens, and each second one call asks
/// for all jobs. Both are there only while somebody waits.
final class Follower: Sendable {
    private struct State {
        /// By job, then by number.
        var waits: [Int64: [UInt64: Wait]] = [:]
        var lastWait: UInt64 = 0
        /// Jobs to ask for at once: somebody has begun to wait, or they are said to have ended.
        var urgent: Set<Int64> = []
        /// The last error of the connection.
        var trouble: (any Error)?
        var isRunning = false
    }

    private struct Wait {
        let continuation: CheckedContinuation<EndedJob, any Error>
        /// Ends it at its timeout.
        let timer: Task<Void, any Error>

        func resume(with result: Result<EndedJob, any Error>) {
            timer.cancel()
            continuation.resume(with: result)
        }
    }

    private let database: Database
    private let state = Mutex(State())
    private let work = Signal()
    private static let askEvery: Duration = .seconds(1)
    /// New waits and ends that come close together are asked for by one call.
    private static let gather: Duration = .milliseconds(1)
    /// How long the connection stays after the last wait.
    private static let linger: Duration = .seconds(10)

    init(of database: Database) { self.database = database }

    func end(of id: Int64, timeout: Duration) async throws -> EndedJob {
        let wait = state.withLock { state in
            state.lastWait += 1
            return state.lastWait
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let starts = state.withLock { state in
                    let timer = Task {
                        try await Task.sleep(for: timeout)
                        let trouble = self.state.withLock(\.trouble)
                        take(id, wait)?.resume(with: .failure(trouble ?? ResultError.timedOut(id: id)))
                    }
                    state.waits[id, default: [:]][wait] = Wait(continuation: continuation, timer: timer)
                    state.urgent.insert(id)
                    defer { state.isRunning = true }
                    return !state.isRunning
                }
                if Task.isCancelled { take(id, wait)?.resume(with: .failure(CancellationError())) }
                work.raise()
                if starts { Task { await run() } }
            }
        } onCancel: {
            take(id, wait)?.resume(with: .failure(CancellationError()))
        }
    }

    private func take(_ id: Int64, _ number: UInt64) -> Wait? {
        state.withLock { state in
            let wait = state.waits[id]?.removeValue(forKey: number)
            if state.waits[id]?.isEmpty == true { state.waits[id] = nil }
            return wait
        }
    }

    /// Runs until nobody has waited for a while.
    private func run() async {
        let listening = Task { await listen() }
        var idleSince = ContinuousClock.now
        var askedAt = ContinuousClock.now - Self.askEvery
        while true {
            _ = await work.wait(atMost: Self.askEvery)
            try? await Task.sleep(for: Self.gather)
            let isDue = ContinuousClock.now - askedAt >= Self.askEvery
            let ids = state.withLock { state in
                defer { state.urgent = [] }
                return isDue ? Array(state.waits.keys) : state.urgent.filter { state.waits[$0] != nil }
            }
            if isDue { askedAt = .now }
            if !ids.isEmpty {
                idleSince = .now
                await ask(for: ids)
            } else if ContinuousClock.now - idleSince > Self.linger {
                let isOver = state.withLock { state in
                    state.isRunning = !state.waits.isEmpty
                    return !state.isRunning
                }
                if isOver { return listening.cancel() }
            }
        }
    }

    /// Ends the waits for those of the jobs that have ended.
    private func ask(for ids: [Int64]) async {
        do {
            let rows = try await database.query(
                Statement("select job_id, state, output, error from errand.ended($1)", [ids]))
            for row in rows {
                let (id, end, output, error) = try row.decode(Int64.self, String.self, JSONB?.self, String?.self)
                let result: Result<EndedJob, any Error> =
                    end == "unknown"
                    ? .failure(ResultError.unknown(id: id))
                    : .success(EndedJob(id: id, state: end, output: output, error: error))
                for wait in (state.withLock { $0.waits.removeValue(forKey: id) } ?? [:]).values {
                    wait.resume(with: result)
                }
            }
            state.withLock { $0.trouble = nil }
        } catch {
            state.withLock { $0.trouble = error }
        }
    }

    /// Listens until its task is cancelled; connects again whenever the connection is lost.
    private func listen() async {
        while !Task.isCancelled {
            do {
                let connection = try await database.makeConnection()
                await connection.deliverNotifications { self.receive($0.payload) }
                try await connection.listen("errand_ended")
                // What ended meanwhile was not heard.
                state.withLock { $0.urgent.formUnion($0.waits.keys) }
                work.raise()
                await withTaskCancellationHandler {
                    for await _ in connection.notifications {}
                } onCancel: {
                    Task { await connection.close() }
                }
            } catch {
                state.withLock { $0.trouble = error }
            }
            try? await Task.sleep(for: Self.askEvery)
        }
    }

    /// `4711:succeeded,4712:failed`: hints, since each is asked for.
    private func receive(_ payload: String) {
        let ids = payload.split(separator: ",").compactMap { Int64($0.prefix { $0 != ":" }) }
        let isAwaited = state.withLock { state in
            let awaited = ids.filter { state.waits[$0] != nil }
            state.urgent.formUnion(awaited)
            return !awaited.isEmpty
        }
        if isAwaited { work.raise() }
    }
}
