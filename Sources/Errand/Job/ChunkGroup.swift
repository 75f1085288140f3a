import Synchronization

/// The attempts of a chunk. Each is a task of its own, with its own middleware, and they meet here: the last one to
/// arrive has the handler run for all.
///
/// An attempt whose middleware holds it up for more than ``timeout`` misses the others, and runs with those that come
/// late too.
final class ChunkGroup: Sendable {
    typealias Run = @Sendable ([any Sendable]) async throws -> [Outcome]

    private struct Arrival {
        let id: Int64
        let member: any Sendable
        let continuation: CheckedContinuation<Outcome, any Error>
    }

    /// A run of the handler.
    private struct Round {
        var running: Set<Int64>
        let task: Task<Void, Never>
    }

    private struct State {
        /// Attempts that have neither arrived nor ended.
        var expected: Set<Int64>
        var arrived: [Arrival] = []
        /// Jobs that are to stop.
        var cancelled: Set<Int64> = []
        var rounds: [Int: Round] = [:]
        var lastRound = 0
        /// Attempts that the worker counts as running.
        var inSlot: Int
        var run: Run?
        var isTiming = false
    }

    /// How many jobs began together.
    let size: Int
    private static let timeout: Duration = .seconds(1)
    private let state: Mutex<State>

    init(_ jobs: [Int64]) {
        size = jobs.count
        state = Mutex(State(expected: Set(jobs), inSlot: jobs.count))
    }

    /// An attempt was removed from the running ones. Returns whether it was the last: then the slot is free.
    func leaveSlot() -> Bool {
        state.withLock { state in
            state.inSlot -= 1
            return state.inSlot == 0
        }
    }
}

// MARK: - Meeting
extension ChunkGroup {
    /// Waits for the other attempts, and for the handler. Returns the outcome of this job.
    func outcome(of id: Int64, _ member: any Sendable, by run: @escaping Run) async throws -> Outcome {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waits = state.withLock { state in
                    state.expected.remove(id)
                    state.arrived.append(Arrival(id: id, member: member, continuation: continuation))
                    state.run = run
                    startIfComplete(&state)
                    defer { if !state.arrived.isEmpty { state.isTiming = true } }
                    return !state.arrived.isEmpty && !state.isTiming
                }
                if waits { startLater() }
                if Task.isCancelled { cancel(id) }
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// An attempt has ended. The others don't wait for it.
    func ended(_ id: Int64) {
        state.withLock { state in
            if state.expected.remove(id) != nil { startIfComplete(&state) }
        }
    }

    private func startIfComplete(_ state: inout State) {
        if state.expected.isEmpty { start(&state) }
    }

    /// Those that have arrived don't wait for ever.
    private func startLater() {
        Task {
            try? await Task.sleep(for: Self.timeout)
            state.withLock { state in
                state.isTiming = false
                start(&state)
            }
        }
    }

    private func start(_ state: inout State) {
        guard !state.arrived.isEmpty, let run = state.run else { return }
        let arrived = state.arrived
        state.arrived = []
        state.lastRound += 1
        let number = state.lastRound
        // It has the task-locals of the last one to arrive.
        let task = Task {
            let result: Result<[Outcome], any Error>
            do { result = .success(try await run(arrived.map(\.member))) } catch { result = .failure(error) }
            self.state.withLock { $0.rounds[number] = nil }
            for (index, arrival) in arrived.enumerated() {
                arrival.continuation.resume(with: result.map { $0[index] })
            }
        }
        let running = Set(arrived.map(\.id)).subtracting(state.cancelled)
        state.rounds[number] = Round(running: running, task: task)
        if running.isEmpty { task.cancel() }
    }

    /// The attempt of a job is to stop. One that waits for others ends; a run of the handler is cancelled once all of
    /// its jobs are to stop.
    private func cancel(_ id: Int64) {
        let waiting = state.withLock { state -> Arrival? in
            state.cancelled.insert(id)
            if let index = state.arrived.firstIndex(where: { $0.id == id }) { return state.arrived.remove(at: index) }
            for (number, round) in state.rounds where round.running.contains(id) {
                state.rounds[number]?.running.remove(id)
                if state.rounds[number]?.running.isEmpty == true { round.task.cancel() }
            }
            return nil
        }
        waiting?.continuation.resume(throwing: CancellationError())
    }
}
