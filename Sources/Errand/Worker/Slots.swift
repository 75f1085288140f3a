import Foundation

/// Which attempts of a queue run and which wait for a slot, and so how many jobs the queue may claim.
///
/// A pure decision: ``QueueState`` keeps it under its lock, and ``AttemptRunner`` runs what it hands out. Attempts
/// begin in their order, never more than there are slots. They are begun by as many tasks (starters) as there are
/// cores.
struct Slots {
    /// How long a job that was prefetched may wait for its slot.
    static let timeout: Duration = .milliseconds(250)

    let count: Int
    private let cores: Int
    /// Jobs claimed or being claimed whose outcome isn't taken to be written yet.
    private(set) var held = 0
    /// Attempts that run, at most `count`.
    private(set) var running = 0
    /// Claimed, and begun as soon as a slot is free.
    private var waiting: ArraySlice<Attempt> = []
    private var starters = 0
    private var prefetch = Prefetch()
    /// The last claim has left jobs in the queue that are claimed only to begin at once: none is prefetched.
    private(set) var beginsOnly = false
    /// A job that was in two crashes of its worker. It begins when nothing else runs here.
    private var trial: Attempt?

    init(count: Int, cores: Int = max(1, ProcessInfo.processInfo.activeProcessorCount)) {
        self.count = count
        self.cores = cores
    }
}

// MARK: - How many to claim
extension Slots {
    /// How many jobs of a claim begin at once.
    var free: Int { max(0, count - held) }

    /// The most jobs that a claim may ask for.
    ///
    /// - Parameter heldByOthers: jobs that the other queues of the worker hold.
    func room(batch: Int, heldByOthers: Int) -> Int {
        let most = Prefetch.most(batch: batch, heldByOthers: heldByOthers)
        let ahead = beginsOnly ? 0 : prefetch.count(slots: count, atMost: most)
        return max(0, min(count + ahead - held, batch))
    }

    /// Counts jobs that the queue holds: those that a claim asks for, and claimed ones until their outcomes are
    /// written.
    mutating func hold(_ jobs: Int) { held += jobs }

    /// A claim brought `jobs`.
    ///
    /// - Parameter beginsOnly: it left jobs in the queue that are claimed only for a free slot.
    mutating func claimed(_ jobs: [ClaimedJob], beginsOnly: Bool) {
        prefetch.claimed(jobs.count, bytes: jobs.reduce(0) { $0 + $1.payload.bytes.count })
        self.beginsOnly = beginsOnly
    }

    /// Outcomes are taken to be written. One that was handed back tells nothing of how long jobs take.
    mutating func completed(_ completions: [Completion]) {
        let ran = completions.lazy.filter { $0.outcome != .released }
        prefetch.completed(ran.count, tookTogether: ran.map(\.took).reduce(.zero, +))
    }
}

// MARK: - Which run
extension Slots {
    /// Takes in attempts of jobs that were claimed. Returns how many starters to add.
    mutating func add(_ attempts: [Attempt]) -> Int {
        trial = attempts.first(where: \.job.isOnTrial) ?? trial
        waiting.append(contentsOf: attempts.filter { !$0.job.isOnTrial })
        return addStarters()
    }

    /// The next attempt, which begins now; nil ends the starter that asks.
    ///
    /// - Parameter isOnTrial: whether another job is to run alone.
    mutating func next(at now: ContinuousClock.Instant, isOnTrial: @autoclosure () -> Bool) -> Attempt? {
        guard running < count, !isOnTrial(), let attempt = waiting.popFirst() else {
            starters -= 1
            return nil
        }
        // An empty slice keeps all that was taken out of it.
        if waiting.isEmpty { waiting = [] }
        return begin(attempt, at: now)
    }

    /// The job on trial, which begins now; nil if there is none that waits.
    mutating func nextTrial(at now: ContinuousClock.Instant) -> Attempt? {
        guard let trial, trial.control.begunAt == nil else { return nil }
        return begin(trial, at: now)
    }

    private mutating func begin(_ attempt: Attempt, at now: ContinuousClock.Instant) -> Attempt {
        running += 1
        attempt.control.begin(at: now)
        return attempt
    }

    /// Takes an attempt out, whether it runs or waits.
    mutating func remove(_ attempt: Attempt) {
        if attempt.control.begunAt != nil {
            running -= 1
        } else {
            waiting.removeAll { $0 === attempt }
        }
        if trial === attempt { trial = nil }
    }

    /// Returns how many tasks are to be started that begin what waits.
    mutating func addStarters() -> Int {
        let new = max(0, min(cores - starters, count - running, waiting.count))
        starters += new
        return new
    }

    /// Takes out what has waited for longer than ``timeout``: what runs takes longer than was to be expected, and
    /// another worker may be idle. All that waits if the worker stops, or if a job is to run alone.
    mutating func takeStalled(
        at now: ContinuousClock.Instant, isStopping: Bool, isOnTrial: Bool
    ) -> ArraySlice<Attempt> {
        var stalled: ArraySlice<Attempt> = []
        if isStopping, let trial, trial.control.begunAt == nil {
            self.trial = nil
            stalled.append(trial)
        }
        guard let oldest = waiting.first else { return stalled }
        guard isStopping || isOnTrial || oldest.claimedAt + Self.timeout <= now else { return stalled }
        if !isOnTrial { prefetch.stalled() }
        stalled += waiting
        waiting = []
        return stalled
    }
}
