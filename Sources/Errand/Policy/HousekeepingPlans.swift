import Postgres

/// When scheduled jobs are put in line, and from where on they are looked for.
///
/// Nothing is expected to be due before the last one that went in line, so that a look doesn't read over what is gone.
/// A transaction that commits late proves that wrong now and then: once a minute the look is at everything.
struct PromotePlan {
    static let interval: Duration = .milliseconds(200)
    /// While nothing waits for its time: a job that is enqueued for later is noticed within this, and from then on is on
    /// time.
    static let idleInterval: Duration = .seconds(1)
    /// The most jobs a call puts in line.
    static let batch = 1000
    private static let overlap: Int64 = 10_000_000
    private static let everythingEvery: Duration = .seconds(60)

    private var lastRunAt: Timestamp?
    private var lookedAtEverything: Duration?

    /// From where on to look now.
    mutating func since(at now: Duration) -> Timestamp {
        if let looked = lookedAtEverything, now - looked < Self.everythingEvery, let lastRunAt {
            return Timestamp(microseconds: lastRunAt.microseconds - Self.overlap)
        }
        lookedAtEverything = now
        return .minusInfinity
    }

    /// A call put `count` jobs in line, and others wait for their time or not; answers the pause before the next call.
    mutating func promoted(_ count: Int, lastRunAt: Timestamp?, othersWait: Bool, took: Duration) -> Duration {
        if let lastRunAt { self.lastRunAt = max(lastRunAt, self.lastRunAt ?? lastRunAt) }
        let interval = othersWait ? Self.interval : Self.idleInterval
        return count == Self.batch ? .zero : Share.pause(after: took, atLeast: interval)
    }

    /// The call failed: what it did is unknown, so the next one looks at everything.
    mutating func failed() { lookedAtEverything = nil }
}

/// When lost workers are looked for, and when jobs that nobody holds are.
struct RescuePlan {
    static let interval: Duration = .seconds(5)
    private static let scanEvery: Duration = .seconds(300)
    /// How long after a lost worker all jobs are looked at: an end or a claim of its may still have been under way.
    private static let scanAfterLoss: Duration = .seconds(60)

    private var lastScan: Duration?
    private var scanUntil: Duration = .zero

    /// Whether all jobs are to be looked at now.
    mutating func scans(at now: Duration) -> Bool {
        guard let last = lastScan, now >= scanUntil, now - last < Self.scanEvery else {
            lastScan = now
            return true
        }
        return false
    }

    /// A call found that many lost workers; answers the pause before the next call.
    mutating func rescued(lostWorkers: Int, took: Duration, at now: Duration) -> Duration {
        if lostWorkers > 0 { scanUntil = now + Self.scanAfterLoss }
        return Share.pause(after: took, atLeast: Self.interval)
    }

    /// The call failed: a worker may have been lost in it.
    mutating func failed() { lastScan = nil }
}

/// When jobs that were in two crashes of their worker go back in line, one at a time.
enum IsolationPlan {
    /// While some wait: there may be as many as a worker holds, and most take no longer than this.
    static let interval: Duration = .milliseconds(20)
    static let idleInterval: Duration = .seconds(5)
}

/// When jobs are counted for the views of ops.
enum StockPlan {
    static let interval: Duration = .seconds(5)

    /// The pause after a count that took so long; each is bounded, some 100 ms however many jobs there are.
    static func pause(after took: Duration) -> Duration { Share.pause(after: took, atLeast: interval) }
}

/// When partitions are made and dropped, and old records pruned.
enum MaintainPlan {
    static let interval: Duration = .seconds(3600)
    /// After a lock on the history could not be had.
    static let again: Duration = .seconds(60)
    /// While there is more to prune than one call takes.
    static let more: Duration = .seconds(1)
    /// The most records that a call prunes of one sort.
    static let batch = 10_000

    /// The delay after a call that removed that many records of its biggest sort.
    static func maintained(removed: Int, took: Duration) -> Duration {
        Share.pause(after: took, atLeast: removed >= batch ? more : interval)
    }
}

/// How much of the time a duty may take.
enum Share {
    /// A pause after which a duty that took so long has taken 2 % of the time.
    static func pause(after took: Duration, atLeast interval: Duration) -> Duration { max(interval, took * 49) }
}
