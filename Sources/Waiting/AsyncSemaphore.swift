import Synchronization

/// Bounds what tasks use together: memory, or processes. First come, first served.
package final class AsyncSemaphore: Sendable {
    private struct State {
        var permits: Permits
        /// Woken with true to go on, with false to give up.
        var waiters = Waiters<Bool>()

        mutating func admit(_ ids: [UInt64]) -> [Waiters<Bool>.Continuation] {
            ids.compactMap { waiters.wake($0, with: true) }
        }
    }

    private let state: Mutex<State>

    /// - Parameter permits: how many there are; nil is no bound: no task waits.
    package init(permits: Int?) { state = Mutex(State(permits: Permits(permits ?? .max))) }

    /// Runs `body` once `count` permits are free, and holds them until it ends. A task that needs more than there are
    /// runs alone.
    ///
    /// - Throws: what `body` throws; a `CancellationError` if the task was cancelled before.
    package func with<T>(
        _ count: Int, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> T
    ) async throws -> T {
        guard count > 0 else { return try await body() }
        let (id, admitted) = state.withLock { state in
            let id = state.waiters.add()
            return (id, state.admit(state.permits.arrive(id, needs: count)))
        }
        resume(admitted)
        guard await isAdmitted(id) else { throw CancellationError() }
        defer { resume(state.withLock { $0.admit($0.permits.leave(count)) }) }
        return try await body()
    }

    /// How much is in use now.
    package var usage: Usage {
        state.withLock { state in
            let permits = state.permits
            return Usage(
                permits: permits.count == .max ? nil : permits.count, taken: permits.taken, waiting: permits.waiters)
        }
    }

    /// How much of a semaphore is in use.
    package struct Usage: Sendable, Hashable {
        /// How many permits there are; nil is no bound.
        package let permits: Int?
        /// Permits that bodies hold; more than there are while one runs alone that needs more.
        package let taken: Int
        /// Tasks that wait for permits.
        package let waiting: Int
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

    /// A waiter that is already admitted releases its permits when its body ends.
    private func giveUp(_ id: UInt64) {
        let (leaver, others) = state.withLock { state in
            guard let admitted = state.permits.giveUp(id) else {
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

/// Decides which waiters get permits: first come, first served. A need above all permits is admitted alone.
struct Permits {
    let count: Int
    private(set) var taken = 0
    private var inside = 0
    private var waiting: [(waiter: UInt64, need: Int)] = []

    init(_ count: Int) { self.count = count }

    /// How many waiters are not admitted yet.
    var waiters: Int { waiting.count }

    /// A waiter requests permits. Returns the waiters that are admitted now.
    mutating func arrive(_ waiter: UInt64, needs need: Int) -> [UInt64] {
        waiting.append((waiter, need))
        return admitted()
    }

    /// Permits are released. Returns the waiters that are admitted now.
    mutating func leave(_ need: Int) -> [UInt64] {
        taken -= need
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
        while let first = waiting.first, inside == 0 || first.need <= count - taken {
            taken += first.need
            inside += 1
            admitted.append(first.waiter)
            waiting.removeFirst()
        }
        return admitted
    }
}
