import Synchronization

/// The memory that a worker's attempts may take together, as far as they say what they need.
final class MemoryBudget: Sendable {
    private struct State {
        var queue: MemoryQueue
        var sleepers: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        /// Told before they had gone to sleep: true is to go on, false to give up.
        var early: [UInt64: Bool] = [:]
        var next: UInt64 = 0
    }

    private let state: Mutex<State>

    /// - Parameter bytes: nil is no budget: nobody waits.
    init(bytes: Int?) { state = Mutex(State(queue: MemoryQueue(budget: bytes ?? .max))) }

    /// Runs `body` once `bytes` are free.
    func with<T: Sendable>(_ bytes: Int, _ body: () async throws -> T) async throws -> T {
        guard bytes > 0 else { return try await body() }
        let visitor = state.withLock { state in
            state.next += 1
            for admitted in state.queue.arrive(state.next, bytes: bytes) { state.early[admitted] = true }
            return state.next
        }
        guard await admitted(visitor) else { throw CancellationError() }
        defer { wake(state.withLock { $0.queue.leave(bytes: bytes) }) }
        return try await body()
    }

    private func admitted(_ visitor: UInt64) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state in
                    let early = state.early.removeValue(forKey: visitor)
                    if early == nil { state.sleepers[visitor] = continuation }
                    return early
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            giveUp(visitor)
        }
    }

    private func giveUp(_ visitor: UInt64) {
        let (sleeper, others) = state.withLock { state in
            // In already: it leaves when its body has ended.
            guard let admitted = state.queue.giveUp(visitor) else {
                return (nil as CheckedContinuation<Bool, Never>?, [] as [UInt64])
            }
            let sleeper = state.sleepers.removeValue(forKey: visitor)
            if sleeper == nil { state.early[visitor] = false }
            return (sleeper, admitted)
        }
        sleeper?.resume(returning: false)
        wake(others)
    }

    private func wake(_ admitted: [UInt64]) {
        for visitor in admitted {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: visitor)
                if sleeper == nil { state.early[visitor] = true }
                return sleeper
            }
            sleeper?.resume(returning: true)
        }
    }
}

/// Who may take how much of a budget now: first come, first served. Who needs more than all of it is let in alone.
struct MemoryQueue {
    let budget: Int
    private(set) var taken = 0
    private var inside = 0
    private var waiting: [(visitor: UInt64, bytes: Int)] = []

    init(budget: Int) { self.budget = budget }

    /// Takes a place in line; answers who may go in now.
    mutating func arrive(_ visitor: UInt64, bytes: Int) -> [UInt64] {
        waiting.append((visitor, bytes))
        return admitted()
    }

    /// One is done with so many bytes; answers who may go in now.
    mutating func leave(bytes: Int) -> [UInt64] {
        taken -= bytes
        inside -= 1
        return admitted()
    }

    /// One that waits goes away; answers who may go in now, nil where it was in already.
    mutating func giveUp(_ visitor: UInt64) -> [UInt64]? {
        guard let index = waiting.firstIndex(where: { $0.visitor == visitor }) else { return nil }
        waiting.remove(at: index)
        return admitted()
    }

    private mutating func admitted() -> [UInt64] {
        var admitted: [UInt64] = []
        while let first = waiting.first, inside == 0 || first.bytes <= budget - taken {
            taken += first.bytes
            inside += 1
            admitted.append(first.visitor)
            waiting.removeFirst()
        }
        return admitted
    }
}
