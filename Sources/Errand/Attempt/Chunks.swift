/// Gathers claimed jobs into chunks until each is full, or its window is over.
///
/// A pure decision: ``Slots`` keeps it under its lock. A chunk that gathers takes no slot.
struct Chunks {
    struct Key: Hashable {
        let kind: JobKind
        let key: String
    }

    /// A chunk that has begun to gather, and how long it does.
    struct Begun {
        let key: Key
        let number: Int
        let window: Duration
    }

    private struct Gathering {
        let number: Int
        let size: Int
        var attempts: [Attempt] = []
    }

    struct Ready {
        var attempts: [Attempt]
        let since: ContinuousClock.Instant
    }

    private var gathering: [Key: Gathering] = [:]
    /// Chunks that begin when a slot is free, in this order.
    private(set) var ready: ArraySlice<Ready> = []
    private var lastNumber = 0
    private var begun: [Begun] = []
    /// Attempts that were added and not removed: those of gathering, ready and running chunks.
    private(set) var jobs = 0
    /// How many more jobs than there are slots the next claim may ask for: as long as claims return nothing but jobs
    /// for chunks, twice as many each time.
    private var ahead = 0

    /// How many gather.
    var gatheringCount: Int { gathering.count }

    /// How many jobs a claim may ask for beside those for free slots.
    var room: Int { ahead == 0 ? 0 : min(ahead, gathering.values.reduce(0) { $0 + $1.size - $1.attempts.count }) }
}

// MARK: - Gathering
extension Chunks {
    /// Adds those attempts of a claim that gather. Returns the others.
    mutating func add(_ attempts: [Attempt], at now: ContinuousClock.Instant) -> [Attempt] {
        var others: [Attempt] = []
        for attempt in attempts {
            guard let key = attempt.chunkKey, let plan = attempt.entry?.chunk else {
                others.append(attempt)
                continue
            }
            add(attempt, Key(kind: attempt.job.kind, key: key), plan, at: now)
        }
        let isOnly = !attempts.isEmpty && others.isEmpty
        ahead = isOnly ? max(ahead, attempts.count) * 2 : 0
        return others
    }

    private mutating func add(_ attempt: Attempt, _ key: Key, _ plan: ChunkPlan, at now: ContinuousClock.Instant) {
        jobs += 1
        if gathering[key] == nil {
            lastNumber += 1
            gathering[key] = Gathering(number: lastNumber, size: plan.size)
            if plan.size > 1 { begun.append(Begun(key: key, number: lastNumber, window: plan.window)) }
        }
        gathering[key]?.attempts.append(attempt)
        if let whole = gathering[key], whole.attempts.count >= whole.size { endGathering(key, whole.number, at: now) }
    }

    /// The chunks that have begun to gather since the last call, each of which needs a timer.
    mutating func takeBegun() -> [Begun] {
        defer { begun = [] }
        return begun
    }

    /// A chunk is full, or its window is over: it begins when a slot is free.
    mutating func endGathering(_ key: Key, _ number: Int, at now: ContinuousClock.Instant) {
        guard let whole = gathering[key], whole.number == number else { return }
        gathering[key] = nil
        ready.append(Ready(attempts: whole.attempts, since: now))
    }
}

// MARK: - Beginning and ending
extension Chunks {
    /// The next chunk to begin. Its jobs stay counted.
    mutating func next() -> [Attempt]? {
        let next = ready.popFirst()
        // An empty slice would retain its removed elements.
        if ready.isEmpty { ready = [] }
        return next?.attempts
    }

    /// Removes an attempt, wherever it is.
    mutating func remove(_ attempt: Attempt, _ key: String) {
        jobs -= 1
        let key = Key(kind: attempt.job.kind, key: key)
        gathering[key]?.attempts.removeAll { $0 === attempt }
        if gathering[key]?.attempts.isEmpty == true { gathering[key] = nil }
        for index in ready.indices { ready[index].attempts.removeAll { $0 === attempt } }
        ready.removeAll { $0.attempts.isEmpty }
    }

    /// Takes the chunks that have waited for a slot since that time, or all that haven't begun. Their attempts stay
    /// counted until they are removed.
    mutating func takeStalled(before oldest: ContinuousClock.Instant, all: Bool) -> [Attempt] {
        guard all || (ready.first.map { $0.since <= oldest } ?? false) else { return [] }
        var stalled = ready.flatMap(\.attempts)
        ready = []
        if all {
            stalled += gathering.values.flatMap(\.attempts)
            gathering = [:]
        }
        return stalled
    }
}
