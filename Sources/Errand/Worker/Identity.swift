import Synchronization

/// The worker ids of one process: the one that it claims under, and those that still need heartbeats for a while.
///
/// When the result of a claim is lost, jobs may be running under the id that nobody here knows of. So the process takes
/// a new id and claims under that; the old one has heartbeats until its known jobs have ended. Then it leaves, and what
/// is left under it becomes available again.
final class Identity: Sendable {
    private struct State {
        var current: Int64?
        var retiring: Set<Int64> = []
    }

    private let state = Mutex(State())

    /// The id to claim under; nil while a new one has to be registered.
    var current: Int64? { state.withLock(\.current) }

    /// All ids that have a lease.
    var all: [Int64] { state.withLock { Array($0.retiring) + ($0.current.map { [$0] } ?? []) } }

    var retiring: Set<Int64> { state.withLock(\.retiring) }

    func adopt(_ id: Int64) { state.withLock { $0.current = id } }

    /// A result was lost: claim under this id no more.
    func doubt(_ id: Int64) {
        state.withLock { state in
            guard state.current == id else { return }
            state.current = nil
            state.retiring.insert(id)
        }
    }

    /// The lease of this id is gone.
    func forget(_ id: Int64) {
        state.withLock { state in
            if state.current == id { state.current = nil }
            state.retiring.remove(id)
        }
    }
}
