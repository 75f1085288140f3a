/// When a queue claims, and from where on each of its two connections reads.
///
/// A pure decision: ``QueueState`` keeps it under its lock, and ``RoundTrip`` sends the claims.
struct ClaimPlan {
    /// The two connections of a queue. Each has marks of its own, as two workers have: what a claim proves holds from
    /// the marks on that it began at.
    enum Connection: Int, CaseIterable { case first, second }

    private var marks = [LowWaterMark](repeating: LowWaterMark(), count: Connection.allCases.count)
    /// The last claim got a whole batch.
    private(set) var isDeep = false
    /// Claims without being told that something is due.
    private(set) var isAwake = true
    private var wasWoken = false
    /// A claim was refused: until one gets through, completions are written without one.
    private(set) var isApart = false
    /// No claim before this moment: the last one failed.
    private var notBefore: ContinuousClock.Instant?
    private var claims = 0
    /// Scans ahead that may still move nothing, before claims go on; nil where claims don't take too long.
    private var scansLeft: Int?
    private static let vainScans = 5
    /// The most jobs that a claim may ask for after one that took too long. It doubles from claim to claim.
    private(set) var most = Int.max

    /// Something may be due: it claims once, and goes on while it gets all that it asks for.
    mutating func wake() {
        wasWoken = true
        isAwake = true
    }

    /// A claim is about to ask. A wake-up that comes from now on calls for another one.
    mutating func asks() { wasWoken = false }

    /// A claim got less than it asked for. It is awake still if a wake-up has come since.
    mutating func fallAsleep() { isAwake = wasWoken }

    /// How long claims still wait after one that failed; nil if they don't.
    func delay(at now: ContinuousClock.Instant) -> Duration? {
        notBefore.map { $0 - now }.flatMap { $0 > .zero ? $0 : nil }
    }

    /// The order in which the next claim reads the priorities. One claim in sixteen reads them in reverse, so that the
    /// lowest is never starved for ever.
    mutating func nextPriorities() -> [Int] {
        claims += 1
        return claims % 16 == 0 ? [4, 3, 2, 1] : [1, 2, 3, 4]
    }
}

// MARK: - What a claim came to
extension ClaimPlan {
    /// The database refused the claim, and nothing else of its round trip.
    mutating func refused() { isApart = true }

    /// A round trip failed. The next claim waits for as long only if completions are written without it meanwhile.
    mutating func failed(retryAt time: ContinuousClock.Instant) {
        isAwake = true
        if isApart { notBefore = time }
    }

    /// A claim took longer than the database lets it, so it would again. The marks move on first. The next claim then
    /// asks for the one job that a scan ahead has found: behind that one as many positions may lie again.
    mutating func tookTooLong() {
        scansLeft = Self.vainScans
        most = 1
    }

    /// Whether positions are scanned ahead before the next claim.
    var scansAhead: Bool { scansLeft != nil }

    /// What a scan ahead has shown. Returns whether any mark moved. `now` is any clock that only moves forward.
    mutating func scanned(_ scan: LowWaterMark.Observation, at now: Duration) -> Bool {
        let connection = Connection.first
        observed(scan, isDeep: false, on: connection, at: now)
        let starts = marks[connection.rawValue].starts
        let hasMoved = starts != scan.starts
        let left = (scansLeft ?? 0) - (hasMoved ? 0 : 1)
        let isNear = starts.indices.allSatisfy { index in
            let reached = scan.reached?[index] ?? scan.high
            let hasFound = reached < scan.starts[index] + LowWaterMark.stride
            // New jobs come meanwhile: the marks never get to the newest one.
            return (hasFound ? reached : scan.high) - starts[index] < LowWaterMark.stride / 10
        }
        scansLeft = isNear || left <= 0 ? nil : left
        return hasMoved
    }

    /// Claims go on from where the marks are.
    mutating func endScanAhead() { scansLeft = nil }

    /// A claim got through.
    mutating func succeeded() {
        isApart = false
        notBefore = nil
        most = most > Int.max / 2 ? .max : most * 2
    }

    /// What a claim has shown. `now` is any clock that only moves forward.
    mutating func observed(
        _ observation: LowWaterMark.Observation, isDeep: Bool, on connection: Connection, at now: Duration
    ) {
        self.isDeep = isDeep
        guard !marks[connection.rawValue].observe(observation, at: now) else { return }
        for other in Connection.allCases where other != connection { marks[other.rawValue] = LowWaterMark() }
    }
}

// MARK: - Marks
extension ClaimPlan {
    /// Behind which positions a connection's next claim reads. The other one may have been claiming alone for long.
    mutating func starts(of connection: Connection) -> [Int64] {
        for other in Connection.allCases where other != connection {
            marks[connection.rawValue].catchUp(with: marks[other.rawValue].published)
        }
        return marks[connection.rawValue].starts
    }

    /// Right for other workers too: ``LowWaterMark/stored``.
    var stored: [Int64] {
        marks.dropFirst().reduce(marks[0].stored) { zip($0, $1.stored).map(max) }
    }

    /// Adopts what another worker of the same kinds has published.
    mutating func catchUp(with published: [Int64]) {
        for connection in Connection.allCases { marks[connection.rawValue].catchUp(with: published) }
    }

    /// Forgets what was known of positions, and begins at what another worker has published, if anything.
    mutating func restart(at published: [Int64]?) {
        for connection in Connection.allCases { marks[connection.rawValue] = LowWaterMark() }
        if let published { catchUp(with: published) }
    }

    /// Where to scan for jobs that the marks hide.
    var look: LowWaterMark.Look { marks[Connection.first.rawValue].look }

    /// The lowest position that waits below each mark, nil where there is none.
    mutating func found(_ lowest: [Int64?], by look: LowWaterMark.Look) {
        marks[Connection.first.rawValue].found(lowest, by: look)
    }
}
