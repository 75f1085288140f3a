import Synchronization

/// The worker ids of one worker: the one that it claims with, and retiring ones that still need heartbeats. With them
/// the records of their claims: ``ClaimGenerations``.
///
/// When the result of a claim is lost, the id may own jobs that this process doesn't know. So the process registers a
/// new id and claims with that. The old id gets heartbeats until its known jobs have completed. Then the process
/// deregisters it, and its remaining jobs become available again.
final class Identity: Sendable {
    private struct State {
        var current: Int64?
        var retiring: Set<Int64> = []
    }

    private let state = Mutex(State())
    let generations = Mutex(ClaimGenerations())
    /// Heartbeats that succeeded.
    let heartbeats = Atomic<Int>(0)

    /// The id to claim with; nil until a new one is registered.
    var current: Int64? { state.withLock(\.current) }

    /// All ids that have a lease.
    var all: [Int64] { state.withLock { Array($0.retiring) + ($0.current.map { [$0] } ?? []) } }

    var retiring: Set<Int64> { state.withLock(\.retiring) }

    func adopt(_ id: Int64) { state.withLock { $0.current = id } }

    /// A result was lost: stops claiming with this id.
    func retire(_ id: Int64) {
        state.withLock { state in
            guard state.current == id else { return }
            state.current = nil
            state.retiring.insert(id)
        }
    }

    /// The lease of this id is lost or was ended.
    func remove(_ id: Int64) {
        state.withLock { state in
            if state.current == id { state.current = nil }
            state.retiring.remove(id)
        }
        generations.withLock { $0.left(id) }
    }

    /// The process no longer owns these jobs, or their outcomes are written.
    func finished(_ jobs: some Sequence<ClaimedJob>) {
        generations.withLock { generations in
            for job in jobs { generations.finished(job) }
        }
    }
}
