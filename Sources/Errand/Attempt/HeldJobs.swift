import Synchronization
import Waiting

/// The jobs that one queue of a worker holds, from their claim until their outcomes are taken to be written. It runs
/// their attempts.
///
/// Each attempt has a task of its own, which begins immediately on the thread of its dispatcher. An attempt that never
/// suspends ends before the next one begins, and no thread is woken for it. One that computes for long blocks one
/// dispatcher.
///
/// One lock guards ``Slots`` and ``CompletionBuffer``, because a completed attempt frees its slot and adds its
/// completion in one step. So a stopping worker never misses a completion in between, and a job costs one lock at its
/// start and one at its end.
final class HeldJobs: Sendable {
    let queue: String
    /// Nil if the queue has its slots for itself.
    let share: SlotShare?
    /// Raised when an attempt has completed, when a job may be due, and when the worker stops.
    let work = Signal()
    let state: Mutex<State>
    private let environment: AttemptEnvironment
    private let running: Running
    private let watch: AttemptWatch
    private let capacity: SharedCapacity

    struct State {
        var slots: Slots
        var completions = CompletionBuffer()
        fileprivate let capacity: SharedCapacity
    }

    /// - Parameters:
    ///   - sharesChanged: raised when the worker should update its share of the slots; nil: it has all of them.
    ///   - running: the attempts of all queues.
    init(
        queue: String, slots: Int, of capacity: SharedCapacity, waking sharesChanged: Signal? = nil,
        in environment: AttemptEnvironment, addingTo running: Running, watchedBy watch: AttemptWatch
    ) {
        self.queue = queue
        self.environment = environment
        self.running = running
        self.watch = watch
        self.capacity = capacity
        share = sharesChanged.flatMap { capacity[queue]?.join(waking: $0) }
        state = Mutex(State(slots: Slots(count: share == nil ? slots : 0), capacity: capacity))
    }
}

// MARK: - Attempts
extension HeldJobs {
    /// Whether a job must be alone on the worker, so that no other is claimed or begins.
    var runsAlone: Bool { capacity.crashedJobs.runsAlone }

    /// Takes what a claim returned: jobs whose attempts begin now, or when there are slots, and jobs that have ended
    /// already. Returns older attempts of the same jobs, which run no more: their jobs were claimed again.
    ///
    /// - Parameters:
    ///   - reserved: how many jobs were reserved for the claim.
    ///   - beginsOnly: the claim left jobs in the queue that are claimed only for a free slot.
    func take(
        _ jobs: [ClaimedJob], ended: [Completion], insteadOf reserved: Int, beginsOnly: Bool
    ) -> [Attempt] {
        let now = ContinuousClock.now
        let registered = environment.registered.entries
        let attempts = jobs.map { job in
            Attempt(
                job, entry: registered[job.kind] ?? environment.handlers[job.kind],
                context: JobContext(job: job, environment: environment, control: AttemptControl()), claimedAt: now)
        }
        let (dispatchers, gathering, older) = state.withLock { state in
            state.reserve(jobs.count + ended.count - reserved)
            state.completions.add(ended)
            state.slots.claimed(jobs, beginsOnly: beginsOnly)
            // In one step, since an attempt may be removed from the running ones at any time.
            let older = running.insert(attempts)
            return (state.slots.add(attempts), state.slots.takeGathering(), older)
        }
        if !jobs.isEmpty { watch.notifyBegun() }
        dispatch(dispatchers)
        for chunk in gathering {
            Task {
                try? await Task.sleep(for: chunk.window)
                dispatch(state.withLock { $0.slots.endGathering(chunk, at: .now) })
            }
        }
        return older
    }

    /// Begins waiting attempts in so many dispatchers.
    func dispatch(_ dispatchers: Int) {
        for _ in 0..<dispatchers {
            Task {
                while let next = next() {
                    switch next {
                    case .one(let attempt): run(attempt)
                    case .chunk(let attempts): for attempt in attempts { run(attempt) }
                    }
                }
            }
        }
    }

    private enum Next {
        case one(Attempt)
        case chunk([Attempt])
    }

    /// The next attempt or chunk, which begins now; nil ends the dispatcher that asks.
    private func next() -> Next? {
        state.withLock { state in
            if let chunk = state.slots.nextChunk(at: .now, runsAlone: runsAlone) { return .chunk(chunk) }
            return state.slots.next(at: .now, runsAlone: runsAlone).map(Next.one)
        }
    }

    /// Begins the job that must run alone, if one waits and the worker holds no other job.
    func beginAlone() {
        let alone = state.withLock { state in capacity.attempts == 1 ? state.slots.nextAlone(at: .now) : nil }
        if let alone { run(alone) }
    }

    /// Not a child of the caller's task: a handler that ignores its cancellation must not delay the worker's stop.
    /// ``AttemptControl`` has the task.
    private func run(_ attempt: Attempt) {
        attempt.control.attach(
            Task.immediate {
                let completion = await attempt.run()
                if !complete(attempt, completion), let commit = completion.commit {
                    // It was abandoned while its transaction committed.
                    environment.commits.end(commit.ticket)
                }
            })
    }

    /// An attempt has ended: its job passes from the running ones to the completions in one step, so that it is always
    /// in one of them. Wakes the queue's loop, whose next round trip writes the completion. Returns false if the
    /// attempt was removed before: then its completion is not written.
    @discardableResult
    func complete(_ attempt: Attempt, _ completion: Completion) -> Bool {
        let dispatchers: Int? = state.withLock { state in
            guard running.remove(attempt) else { return nil }
            state.completions.add(completion)
            return state.remove(attempt)
        }
        guard let dispatchers else { return false }
        dispatch(dispatchers)
        work.raise()
        return true
    }

    /// An attempt was removed from the running ones: there is no outcome to write.
    func drop(_ attempt: Attempt) {
        let dispatchers = state.withLock { state in
            state.release(1)
            return state.remove(attempt)
        }
        dispatch(dispatchers)
        work.raise()
    }

    /// Hands back attempts that have waited too long for their slot. They are removed under the lock, so that a slot
    /// that becomes free meanwhile begins none of them. Hands back all that wait if the worker stops or a job must run
    /// alone.
    func handBackStalled(at now: ContinuousClock.Instant, isStopping: Bool) {
        let runsAlone = runsAlone
        let stalled = state.withLock {
            $0.slots.takeStalled(at: now, isStopping: isStopping, runsAlone: runsAlone)
        }
        for attempt in stalled { complete(attempt, .released(attempt.job)) }
    }
}

extension HeldJobs.State {
    fileprivate mutating func remove(_ attempt: Attempt) -> Int {
        slots.remove(attempt)
        // Before its slot is freed: after a job that ran alone, others may begin.
        capacity.crashedJobs.finished(attempt.job)
        return slots.addDispatchers()
    }
}

// MARK: - Claims
extension HeldJobs.State {
    /// The most jobs that a claim may ask for now.
    func room(batch: Int) -> Int {
        guard !capacity.crashedJobs.runsAlone else { return 0 }
        return slots.room(batch: batch, heldByOthers: capacity.held.load(ordering: .relaxed) - slots.held)
    }

    /// Counts jobs that the queue holds, for itself and for the worker: those that a claim asks for, and claimed ones
    /// until their outcomes are taken to be written.
    mutating func reserve(_ jobs: Int) {
        slots.reserve(jobs)
        capacity.held.add(jobs, ordering: .relaxed)
    }

    /// The queue no longer holds so many jobs.
    mutating func release(_ jobs: Int) { reserve(-jobs) }
}

// MARK: - Completions
extension HeldJobs.State {
    /// Jobs that are claimed or being claimed, and writes of outcomes in progress.
    var inFlight: Int { slots.held + completions.writes }

    /// Takes the next batch of completions. Their jobs are no longer held, but being written.
    mutating func takeCompletions() -> [Completion] {
        let batch = completions.take()
        guard !batch.isEmpty else { return [] }
        release(batch.count)
        slots.completed(batch)
        return batch
    }

    /// A batch is written except for locked jobs, which are held again: so the worker never finds nothing left to write
    /// in between, and stops. Returns the delay before postponed completions are written again; nil if there are none,
    /// or if that is already planned.
    mutating func written(_ batch: [Completion], except locked: [Completion]) -> Duration? {
        reserve(locked.count)
        return completions.written(batch, except: locked)
    }

    /// Takes back a batch that was not written.
    mutating func notWritten(_ batch: [Completion], because failure: CompletionBuffer.Failure) {
        reserve(batch.count)
        completions.notWritten(batch, because: failure)
    }
}
