import Synchronization
import Waiting

/// What workers of several databases in one process share: the slots of each queue, the memory of attempts, how many
/// jobs they hold, and which of these were in a crash.
///
/// ```swift
/// let capacity = SharedCapacity(of: configuration)
/// let workers = databases.map { database in
///     Worker(database: database, configuration: configuration, sharing: capacity, logger: logger) {
///         SendReceiptHandler(mail: mail)
///     }
/// }
/// try await ServiceGroup(services: workers, gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
/// Slots that one database doesn't need serve the others. If all have jobs, each gets the same number of slots. A
/// database that is down needs none. The ids of jobs should be unique over the databases (`errand migrate --cell`).
public final class SharedCapacity: Sendable {
    /// For the memory of attempts: first come, first served.
    let memory: AsyncSemaphore
    /// Jobs that all queues hold: those that claims ask for, and claimed ones until their outcomes are taken to be
    /// written.
    let held = Atomic<Int>(0)
    let crashedJobs = CrashedJobs()
    private let queues: [String: SharedSlots]
    private let running = Mutex<[Running]>([])

    /// Takes the queues and the memory of a configuration.
    public init(of configuration: WorkerConfiguration) {
        queues = configuration.queues.mapValues(SharedSlots.init)
        memory = AsyncSemaphore(permits: configuration.memory)
    }

    /// The slots of a queue; nil if it isn't shared.
    subscript(queue: String) -> SharedSlots? { queues[queue] }

    /// Counts these attempts among all.
    func add(_ attempts: Running) { running.withLock { $0.append(attempts) } }

    /// Attempts of all workers between their claim and their completion.
    var attempts: Int { running.withLock { $0.reduce(0) { $0 + $1.count } } }
}

/// The slots of one queue, which workers share: ``SlotShares`` under a lock.
final class SharedSlots: Sendable {
    private struct State {
        var shares: SlotShares
        /// Of each worker, in the order in which they joined.
        var signals: [Signal] = []
    }

    private let state: Mutex<State>

    init(slots: Int) { state = Mutex(State(shares: SlotShares(slots: slots))) }

    /// Adds a worker.
    ///
    /// - Parameter signal: raised when the worker should update its share.
    func join(waking signal: Signal) -> SlotShare {
        state.withLock { state in
            state.signals.append(signal)
            return SlotShare(slots: self, index: state.shares.join(), changed: signal)
        }
    }

    fileprivate func update(_ index: Int, running: Int, demand: Int) -> (limit: Int, others: [Signal]) {
        state.withLock { state in
            let update = state.shares.update(index, running: running, demand: demand, at: .uptime)
            return (update.limit, update.others.map { state.signals[$0] })
        }
    }

    fileprivate func leave(_ index: Int) {
        let others = state.withLock { state in state.shares.leave(index).map { state.signals[$0] } }
        for other in others { other.raise() }
    }
}

/// A worker's share of the slots of a queue.
struct SlotShare: Sendable {
    fileprivate let slots: SharedSlots
    fileprivate let index: Int
    /// Raised when the worker should update its share.
    let changed: Signal

    /// Says what the worker runs and needs. Returns how many attempts it may begin, and the signals to raise when no
    /// lock is held.
    func update(running: Int, demand: Int) -> (limit: Int, others: [Signal]) {
        slots.update(index, running: running, demand: demand)
    }

    /// Releases all slots, when the worker has stopped.
    func leave() { slots.leave(index) }
}
