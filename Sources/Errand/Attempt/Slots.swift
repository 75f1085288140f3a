import Foundation

/// Decides which attempts of a queue run and which wait for a slot, and so how many jobs the queue may claim.
///
/// A pure decision: ``HeldJobs`` keeps it under its lock, and runs its attempts. Attempts begin in order, never
/// more than there are slots. As many tasks (dispatchers) as there are cores begin them.
struct Slots {
    /// How long a prefetched job may wait for its slot.
    static let timeout: Duration = .milliseconds(250)

    /// The most attempts that run: all slots of the queue, or the worker's share of them.
    private(set) var count: Int
    private let cores: Int
    /// Jobs that are claimed or being claimed, until their outcome is taken to be written.
    private(set) var held = 0
    /// Attempts that run, at most `count`, and the one that must run alone.
    private(set) var running = 0
    /// Attempts of claimed jobs that begin when a slot is free.
    private var waiting: ArraySlice<Attempt> = []
    private var dispatchers = 0
    private var chunks = Chunks()
    /// Chunks that run. Each has one of the running slots.
    private var runningChunks = 0
    private var prefetch = Prefetch()
    /// The last claim left jobs in the queue that are claimed only for a free slot. Then none is prefetched.
    private(set) var beginsOnly = false
    /// A job that was in two crashes of its worker. It begins when nothing else runs on this worker.
    private var alone: Attempt?

    init(count: Int, cores: Int = max(1, ProcessInfo.processInfo.activeProcessorCount)) {
        self.count = count
        self.cores = cores
    }
}

// MARK: - How many to claim
extension Slots {
    /// How many jobs of a claim begin at once.
    var free: Int { max(0, count - taken) }

    /// Held jobs, with a chunk that has a slot, or waits for one, as one. Those that gather take none.
    private var taken: Int { chunks.jobs == 0 ? held : held - chunks.jobs + chunks.ready.count + runningChunks }

    /// The most jobs that a claim may ask for.
    ///
    /// - Parameter heldByOthers: jobs that the other queues of the worker hold.
    func room(batch: Int, heldByOthers: Int) -> Int {
        let most = Prefetch.most(batch: batch, heldByOthers: heldByOthers)
        let ahead = beginsOnly ? 0 : prefetch.count(slots: count, atMost: most)
        // More chunks than slots: the next jobs wait until some of these have begun.
        guard chunks.gatheringCount <= count else { return 0 }
        return max(0, min(count + ahead + chunks.room - taken, batch))
    }

    /// Counts jobs that the queue holds: those that a claim asks for, and claimed ones until their outcomes are taken
    /// to be written.
    mutating func reserve(_ jobs: Int) { held += jobs }

    /// A claim returned `jobs`.
    ///
    /// - Parameter beginsOnly: the claim left jobs in the queue that are claimed only for a free slot.
    mutating func claimed(_ jobs: [ClaimedJob], beginsOnly: Bool) {
        prefetch.claimed(jobs.count, bytes: jobs.reduce(0) { $0 + $1.payload.bytes.count })
        self.beginsOnly = beginsOnly
    }

    /// Outcomes are taken to be written. A job that was handed back doesn't show how long jobs take.
    mutating func completed(_ completions: [Completion]) {
        let ran = completions.lazy.filter { $0.outcome != .released }
        prefetch.completed(
            ran.count, tookTogether: ran.map { $0.together == 1 ? $0.took : $0.took / $0.together }.reduce(.zero, +))
    }
}

// MARK: - Which run
extension Slots {
    /// Adds attempts of claimed jobs. Returns how many dispatchers to add.
    mutating func add(_ attempts: [Attempt]) -> Int {
        alone = attempts.first(where: \.job.runsAlone) ?? alone
        let attempts = attempts.contains { $0.chunkKey != nil } ? chunks.add(attempts, at: .now) : attempts
        waiting.append(contentsOf: attempts.filter { !$0.job.runsAlone })
        return addDispatchers()
    }

    /// The next attempt, which begins now; nil ends the dispatcher that asks.
    ///
    /// - Parameter runsAlone: whether another job is to run alone.
    mutating func next(at now: ContinuousClock.Instant, runsAlone: @autoclosure () -> Bool) -> Attempt? {
        guard running < count, !runsAlone(), let attempt = waiting.popFirst() else {
            dispatchers -= 1
            return nil
        }
        // An empty slice would retain its removed elements.
        if waiting.isEmpty { waiting = [] }
        return begin(attempt, at: now)
    }

    /// The chunk that begins now, if one has waited for longer than the next attempt.
    ///
    /// - Parameter runsAlone: whether another job is to run alone.
    mutating func nextChunk(at now: ContinuousClock.Instant, runsAlone: @autoclosure () -> Bool) -> [Attempt]? {
        guard let oldest = chunks.ready.first, running < count, !runsAlone(),
            waiting.first.map({ oldest.since <= $0.claimedAt }) ?? true, let attempts = chunks.next()
        else { return nil }
        running += 1
        runningChunks += 1
        let group = ChunkGroup(attempts.map(\.job.id))
        for attempt in attempts { attempt.control.begin(in: group, at: now) }
        return attempts
    }

    /// The chunks that have begun to gather since the last call.
    mutating func takeGathering() -> [Chunks.Begun] { chunks.takeBegun() }

    /// The window of a chunk is over. Returns how many dispatchers to add.
    mutating func endGathering(_ chunk: Chunks.Begun, at now: ContinuousClock.Instant) -> Int {
        chunks.endGathering(chunk.key, chunk.number, at: now)
        return addDispatchers()
    }

    /// The job that must run alone, which begins now; nil if there is none that waits.
    mutating func nextAlone(at now: ContinuousClock.Instant) -> Attempt? {
        guard let alone, alone.control.begunAt == nil else { return nil }
        return begin(alone, at: now)
    }

    private mutating func begin(_ attempt: Attempt, at now: ContinuousClock.Instant) -> Attempt {
        running += 1
        attempt.control.begin(at: now)
        return attempt
    }

    /// Removes an attempt, whether it runs or waits.
    mutating func remove(_ attempt: Attempt) {
        if let key = attempt.chunkKey {
            chunks.remove(attempt, key)
            guard let group = attempt.control.group, group.leaveSlot() else { return }
            running -= 1
            runningChunks -= 1
        } else if attempt.control.begunAt != nil {
            running -= 1
        } else {
            waiting.removeAll { $0 === attempt }
        }
        if alone === attempt { alone = nil }
    }

    /// Attempts that wait for a slot.
    var waitingCount: Int { waiting.count + chunks.ready.count }

    /// The worker has another share of the queue's slots. Running attempts go on, also if they are more.
    mutating func resize(to count: Int) { self.count = count }

    /// Returns how many dispatchers to add for waiting attempts.
    mutating func addDispatchers() -> Int {
        let new = max(0, min(cores - dispatchers, count - running, waitingCount))
        dispatchers += new
        return new
    }

    /// Removes attempts that have waited for longer than ``timeout``: running ones take longer than expected, and
    /// another worker may be idle. Removes all waiting attempts, also those of chunks that gather, if the worker
    /// stops or a job must run alone.
    mutating func takeStalled(
        at now: ContinuousClock.Instant, isStopping: Bool, runsAlone: Bool
    ) -> ArraySlice<Attempt> {
        var stalled: ArraySlice<Attempt> = []
        if isStopping, let alone, alone.control.begunAt == nil {
            self.alone = nil
            stalled.append(alone)
        }
        let chunked = chunks.takeStalled(before: now - Self.timeout, all: isStopping || runsAlone)
        if !chunked.isEmpty, !runsAlone { prefetch.stalled() }
        stalled += chunked
        guard let oldest = waiting.first else { return stalled }
        guard isStopping || runsAlone || oldest.claimedAt + Self.timeout <= now else { return stalled }
        if !runsAlone { prefetch.stalled() }
        stalled += waiting
        waiting = []
        return stalled
    }
}
