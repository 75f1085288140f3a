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
    /// The longest delay while something waits for its time: a job that is due starts within 1 s.
    static let longestInterval: Duration = .milliseconds(500)
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
        guard othersWait else { return Share.pause(after: took, atLeast: Self.idleInterval) }
        return count == Self.batch ? .zero : min(Share.pause(after: took, atLeast: Self.interval), Self.longestInterval)
    }

    /// The call failed: what it did is unknown, so the next one looks at everything.
    mutating func failed() { lookedAtEverything = nil }
}

/// When parked jobs are looked at whose dependency may be up or whose limit may have room.
enum ReleasePlan {
    static let interval: Duration = .milliseconds(200)
    /// While none is parked.
    static let idleInterval: Duration = .seconds(1)
    /// The longest delay while some are parked.
    static let longestInterval: Duration = .seconds(2)

    /// The delay after a call: a tenth of the time while some are parked, since a call looks at as many limits as 50 ms
    /// allow.
    static func released(othersWait: Bool, took: Duration) -> Duration {
        othersWait
            ? min(max(interval, took * 9), longestInterval) : Share.pause(after: took, atLeast: idleInterval)
    }
}

/// When lost workers are looked for, and which part of the jobs is read for some that nobody holds.
///
/// What a lost worker held is found by the records of its claims. All jobs are read through besides, a part with each
/// call, for running ones that no record names: a safety net.
struct RescuePlan {
    static let interval: Duration = .seconds(5)
    private static let readEvery: Duration = .seconds(3600)

    private var lastRead: Duration?
    private var nextPage: Int64?

    /// The page of the table at which this call is to read on; nil where it is to read none.
    mutating func page(at now: Duration) -> Int64? {
        if nextPage == nil, lastRead.map({ now - $0 >= Self.readEvery }) ?? true {
            lastRead = now
            nextPage = 0
        }
        return nextPage
    }

    /// A call read up to that page, nil where it came to the end. Returns the delay before the next call.
    mutating func rescued(nextPage: Int64?, took: Duration) -> Duration {
        self.nextPage = nextPage
        return Share.pause(after: took, atLeast: Self.interval)
    }
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
