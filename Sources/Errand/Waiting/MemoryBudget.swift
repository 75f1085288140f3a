import Postgres
import Synchronization

/// The memory that a worker's attempts may take together, as declared by them.
final class MemoryBudget: Sendable {
    private struct State {
        var queue: MemoryQueue
        /// Woken with true to go on, with false to give up.
        var waiters = Waiters<Bool>()

        mutating func admit(_ ids: [UInt64]) -> [Waiters<Bool>.Continuation] {
            ids.compactMap { waiters.wake($0, with: true) }
        }
    }

    private let state: Mutex<State>

    /// - Parameter bytes: nil is no budget: no attempt waits.
    init(bytes: Int?) { state = Mutex(State(queue: MemoryQueue(budget: bytes ?? .max))) }

    /// Runs `body` once `bytes` are free.
    ///
    /// - Throws: what `body` throws; a `CancellationError` if the task was cancelled before.
    func with<T: Sendable>(_ bytes: Int, _ body: () async throws -> T) async throws -> T {
        guard bytes > 0 else { return try await body() }
        let (id, admitted) = state.withLock { state in
            let id = state.waiters.add()
            return (id, state.admit(state.queue.arrive(id, bytes: bytes)))
        }
        resume(admitted)
        guard await isAdmitted(id) else { throw CancellationError() }
        defer { resume(state.withLock { $0.admit($0.queue.leave(bytes: bytes)) }) }
        return try await body()
    }

    private func isAdmitted(_ id: UInt64) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { $0.waiters.sleep(id, as: continuation) }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            giveUp(id)
        }
    }

    /// A waiter that is already admitted releases its memory when its body ends.
    private func giveUp(_ id: UInt64) {
        let (leaver, others) = state.withLock { state in
            guard let admitted = state.queue.giveUp(id) else {
                return (nil as Waiters<Bool>.Continuation?, [] as [Waiters<Bool>.Continuation])
            }
            return (state.waiters.wake(id, with: false), state.admit(admitted))
        }
        leaver?.resume(returning: false)
        resume(others)
    }

    private func resume(_ admitted: [Waiters<Bool>.Continuation]) {
        for waiter in admitted { waiter.resume(returning: true) }
    }
}

/// Decides which waiters get memory of a budget: first come, first served. A need above the whole budget is admitted
/// alone.
struct MemoryQueue {
    let budget: Int
    private(set) var taken = 0
    private var inside = 0
    private var waiting: [(waiter: UInt64, bytes: Int)] = []

    init(budget: Int) { self.budget = budget }

    /// A waiter requests memory. Returns the waiters that are admitted now.
    mutating func arrive(_ waiter: UInt64, bytes: Int) -> [UInt64] {
        waiting.append((waiter, bytes))
        return admitted()
    }

    /// Memory is released. Returns the waiters that are admitted now.
    mutating func leave(bytes: Int) -> [UInt64] {
        taken -= bytes
        inside -= 1
        return admitted()
    }

    /// A waiter gives up. Returns the waiters that are admitted now; nil if it was already admitted.
    mutating func giveUp(_ waiter: UInt64) -> [UInt64]? {
        guard let index = waiting.firstIndex(where: { $0.waiter == waiter }) else { return nil }
        waiting.remove(at: index)
        return admitted()
    }

    private mutating func admitted() -> [UInt64] {
        var admitted: [UInt64] = []
        while let first = waiting.first, inside == 0 || first.bytes <= budget - taken {
            taken += first.bytes
            inside += 1
            admitted.append(first.waiter)
            waiting.removeFirst()
        }
        return admitted
    }
}
