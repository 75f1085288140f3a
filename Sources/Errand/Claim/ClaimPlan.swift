/// Decides when a queue claims, and where each of its two loops starts to read.
///
/// A pure decision: ``QueueClaims`` keeps it under its lock, and ``RoundTrip`` sends the claims.
struct ClaimPlan {
    /// The two loops of a queue, each of which has a claim under way at most. Each has marks of its own, as two workers
    /// have, because a claim proves something only from its own starts on.
    enum Loop: Int, CaseIterable { case first, second }

    /// The worker id whose kinds the marks are of.
    private var workerID: Int64?
    private var marks = [LowWaterMark](repeating: LowWaterMark(), count: Loop.allCases.count)
    /// The last claim that read the queue returned a full large batch.
    private(set) var hasBacklog = false
    /// Whether the queue claims without a wake-up.
    private(set) var isAwake = true
    /// A wake-up has come since the last claim was sent or failed.
    private(set) var wasWoken = false
    /// Whether completions are written without a claim, because the last claim was refused.
    private(set) var isRefused = false
    /// No claim before this time, because the last one failed.
    private var notBefore: ContinuousClock.Instant?
    private var claims = 0
    /// How many more scans ahead may move no mark before claims go on; nil if claims don't take too long.
    private var scansLeft: Int?
    private static let emptyScans = 5
    /// The limit of a claim after one that took too long. It doubles with each claim.
    private(set) var most = Int.max
    /// The smallest limit of claims that run one after the other.
    private static let serializedFrom = 100

    /// A job may be due: the queue claims once, and goes on while claims return their full limit.
    mutating func wake() {
        wasWoken = true
        isAwake = true
    }

    /// A claim is about to be sent. A wake-up from now on requires another claim.
    mutating func asks() { wasWoken = false }

    /// A claim returned fewer jobs than its limit. The queue stays awake if a wake-up has come since.
    mutating func fallAsleep() { isAwake = wasWoken }

    /// The delay of claims after a failed one; nil if there is none.
    func delay(at now: ContinuousClock.Instant) -> Duration? {
        notBefore.map { $0 - now }.flatMap { $0 > .zero ? $0 : nil }
    }

    /// Whether a claim waits until no other large claim runs, on any worker. Two large claims at once would visit the
    /// same rows. Small ones would wait for each other's commit, which takes longer than the rows.
    func isSerialized(limit: Int) -> Bool { hasBacklog && limit >= Self.serializedFrom }

    /// The order in which the next claim reads the priorities. One claim in sixteen reads them in reverse, so that the
    /// lowest isn't starved.
    mutating func nextPriorities() -> [Int] {
        claims += 1
        return claims % 16 == 0 ? [4, 3, 2, 1] : [1, 2, 3, 4]
    }
}

// MARK: - What a claim came to
extension ClaimPlan {
    /// The database refused the claim, not another part of its round trip.
    mutating func refused() { isRefused = true }

    /// A round trip failed. The next claim is delayed here only if completions are written without claims meanwhile.
    mutating func failed(retryAt time: ContinuousClock.Instant) {
        isAwake = true
        wasWoken = false
        if isRefused { notBefore = time }
    }

    /// A claim exceeded the statement timeout, and would again. So the marks move on first. Then the next claim asks
    /// for one job, the one that a scan ahead has found: as many dead entries may lie behind it.
    mutating func tookTooLong() {
        scansLeft = Self.emptyScans
        most = 1
    }

    /// Whether positions are scanned ahead before the next claim.
    var scansAhead: Bool { scansLeft != nil }

    /// Takes the result of a scan ahead. Returns whether any mark moved. `now` is any monotonic clock.
    mutating func scanned(_ scan: LowWaterMark.Observation, at now: Duration) -> Bool {
        let loop = Loop.first
        observed(scan, under: workerID, hasBacklog: false, on: loop, at: now)
        let starts = marks[loop.rawValue].starts
        let hasMoved = starts != scan.starts
        let left = (scansLeft ?? 0) - (hasMoved ? 0 : 1)
        let isNear = starts.indices.allSatisfy { index in
            let reached = scan.reached?[index] ?? scan.high
            let hasFound = reached < scan.starts[index] + LowWaterMark.stride
            // New jobs come meanwhile, so the marks never reach the newest one.
            return (hasFound ? reached : scan.high) - starts[index] < LowWaterMark.stride / 10
        }
        scansLeft = isNear || left <= 0 ? nil : left
        return hasMoved
    }

    /// Ends scanning ahead. Claims go on from the marks.
    mutating func endScanAhead() { scansLeft = nil }

    /// A claim got through.
    mutating func succeeded() {
        isRefused = false
        notBefore = nil
        most = most > Int.max / 2 ? .max : most * 2
    }

    /// Takes the result of a claim under a worker id. `now` is any monotonic clock.
    mutating func observed(
        _ observation: LowWaterMark.Observation, under workerID: Int64? = nil, hasBacklog: Bool, on loop: Loop,
        at now: Duration
    ) {
        self.hasBacklog = hasBacklog
        // Earlier ids may have had other kinds.
        guard workerID == self.workerID else { return }
        guard !marks[loop.rawValue].observe(observation, at: now) else { return }
        for other in Loop.allCases where other != loop { marks[other.rawValue] = LowWaterMark() }
    }
}

// MARK: - Marks
extension ClaimPlan {
    /// The positions behind which a loop's next claim reads. It adopts the marks of the other loop, which
    /// may have claimed alone for long.
    mutating func starts(of loop: Loop) -> [Int64] {
        for other in Loop.allCases where other != loop {
            marks[loop.rawValue].catchUp(with: marks[other.rawValue].published)
        }
        return marks[loop.rawValue].starts
    }

    /// Marks to store for other workers: ``LowWaterMark/stored``.
    var stored: [Int64] {
        marks.dropFirst().reduce(marks[0].stored) { zip($0, $1.stored).map(max) }
    }

    /// Adopts marks that another worker of the same kinds has published.
    mutating func catchUp(with published: [Int64]) {
        for loop in Loop.allCases { marks[loop.rawValue].catchUp(with: published) }
    }

    /// A new worker id, perhaps with other kinds: the marks start at those that another worker of these kinds has
    /// published, if any.
    mutating func register(_ workerID: Int64, at published: [Int64]?) {
        self.workerID = workerID
        restart(at: published)
    }

    /// Resets the marks, and starts at those that another worker has published, if any.
    mutating func restart(at published: [Int64]?) {
        for loop in Loop.allCases { marks[loop.rawValue] = LowWaterMark() }
        if let published { catchUp(with: published) }
    }

    /// The next scan for jobs below the marks.
    var nextScan: LowWaterMark.Scan { marks[Loop.first.rawValue].nextScan }

    /// Takes the lowest waiting position below each mark, nil if there is none.
    mutating func found(_ lowest: [Int64?], by scan: LowWaterMark.Scan) {
        marks[Loop.first.rawValue].found(lowest, by: scan)
    }
}
