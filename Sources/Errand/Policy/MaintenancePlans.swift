import Postgres

/// The delay of a maintenance task before its next run.
enum MaintenanceDelay: Equatable {
    case after(Duration)
    /// Until the task is woken, or after this long.
    case untilWoken(atMost: Duration)

    /// Until promotion finds something for it to do, or after ``longest``.
    static let untilFound = untilWoken(atMost: longest)
    /// A task that has nothing to do makes no calls: promotion looks for all of them with one statement. The task looks
    /// itself only if promotion can't, because its own calls fail.
    static let longest: Duration = .seconds(30)
}

/// When scheduled jobs are made available, and from which time on they are searched.
///
/// No job is expected to be due before the last promoted one, so that a search doesn't read dead entries. A transaction
/// that commits late breaks this assumption, and so does one that ends and had locked a job. So a search reads
/// everything every second, or for 2 % of the time beside a held snapshot, with its many dead entries.
struct PromotePlan {
    static let interval: Duration = .milliseconds(200)
    /// While no job is scheduled. A newly scheduled job is noticed within this interval, and starts on time from then
    /// on.
    static let idleInterval: Duration = .seconds(1)
    /// The longest delay while jobs are scheduled: a due job starts within 1 s.
    static let longestInterval: Duration = .milliseconds(500)
    /// The most jobs that a call promotes.
    static let batch = 1000
    private static let overlap: Int64 = 10_000_000
    private static let everythingEvery: Duration = .seconds(1)
    private static let longestEvery: Duration = .seconds(60)

    private var lastRunAt: Timestamp?
    private var scansEverythingFrom: Duration = .zero
    private var isScanningEverything = false

    /// The time from which to search now.
    mutating func since(at now: Duration) -> Timestamp {
        if now < scansEverythingFrom, let lastRunAt {
            return Timestamp(microseconds: lastRunAt.microseconds - Self.overlap)
        }
        isScanningEverything = true
        return .minusInfinity
    }

    /// A call promoted `count` jobs. `othersWait` says whether jobs are still scheduled. Returns the delay before the
    /// next call.
    mutating func promoted(
        _ count: Int, lastRunAt: Timestamp?, othersWait: Bool, took: Duration, at now: Duration
    ) -> Duration {
        if isScanningEverything {
            isScanningEverything = false
            scansEverythingFrom = now + min(Share.delay(after: took, atLeast: Self.everythingEvery), Self.longestEvery)
        }
        if let lastRunAt { self.lastRunAt = max(lastRunAt, self.lastRunAt ?? lastRunAt) }
        guard othersWait else { return Share.delay(after: took, atLeast: Self.idleInterval) }
        return count == Self.batch ? .zero : min(Share.delay(after: took, atLeast: Self.interval), Self.longestInterval)
    }

    /// The call failed: its effect is unknown, so the next one reads everything.
    mutating func failed() { scansEverythingFrom = .zero }
}

/// When parked jobs are checked: their circuit may be up, or their limit may have room.
enum ReleasePlan {
    static let interval: Duration = .milliseconds(200)
    /// The longest delay while some are parked.
    static let longestInterval: Duration = .seconds(2)

    /// The delay after a call. Calls take a tenth of the time while jobs are parked, since a call checks limits for up
    /// to 50 ms.
    static func released(othersWait: Bool, took: Duration) -> MaintenanceDelay {
        othersWait ? .after(min(max(interval, took * 9), longestInterval)) : .untilFound
    }
}

/// When lost workers are searched, and which part of the jobs is read for running jobs without a worker.
///
/// A lost worker's jobs are found by the records of its claims. As a safety net all jobs are also read, a part with
/// each call, for running jobs that no record names.
struct RescuePlan {
    static let interval: Duration = .seconds(5)
    private static let shortest: Duration = .milliseconds(100)
    private static let readEvery: Duration = .seconds(3600)

    private var lastRead: Duration?
    private var nextPage: Int64?

    /// The page of the table at which this call reads on; nil if it reads none.
    mutating func page(at now: Duration) -> Int64? {
        if nextPage == nil, lastRead.map({ now - $0 >= Self.readEvery }) ?? true {
            lastRead = now
            nextPage = 0
        }
        return nextPage
    }

    /// A call read up to `nextPage`, nil at the end of the table. `checkIn` is the time until a call may find the next
    /// lost worker, nil if none is silent. Returns the delay before the next call.
    mutating func rescued(nextPage: Int64?, checkIn: Duration?, took: Duration) -> Duration {
        self.nextPage = nextPage
        let delay = Share.delay(after: took, atLeast: Self.interval)
        return checkIn.map { min(delay, max($0, Self.shortest)) } ?? delay
    }
}

/// When jobs that were in two crashes of their worker are made available again, one at a time.
enum CrashReleasePlan {
    /// While such jobs wait. There may be as many as a worker holds, and most run for less than this.
    static let interval: Duration = .milliseconds(20)

    static func released(othersWait: Bool) -> MaintenanceDelay { othersWait ? .after(interval) : .untilFound }
}

/// When statistics for the operators' views are refreshed.
enum StatisticsPlan {
    /// Between two refreshes, and before the first one: at its start a worker has jobs to claim.
    static let interval: Duration = .seconds(5)

    /// The delay after a refresh that took this long. A refresh is bounded to some 100 ms, however many jobs there are.
    static func delay(after took: Duration) -> Duration { Share.delay(after: took, atLeast: interval) }
}

/// When the next batch of a bulk action is made.
enum BulkPlan {
    /// The delay after a batch. Batches take at most half of the time, so that others run too.
    static func delay(after took: Duration, isMore: Bool) -> MaintenanceDelay { isMore ? .after(took) : .untilFound }
}

/// When partitions are made and dropped, and old records pruned.
enum MaintainPlan {
    static let interval: Duration = .seconds(3600)
    /// The days after today that have partitions. Completions go on for as long if maintenance fails.
    static let daysAhead = 3
    /// The delay before a worker first prunes. At its start it has jobs to claim.
    static let prunesAfter: Duration = .seconds(5)
    /// While there is more to prune than one call takes.
    static let more: Duration = .seconds(1)
    /// The most records of one sort that a call prunes.
    static let batch = 10_000
    /// No program prunes if one has begun to within this time, unless it did that itself and there is more.
    static let atLeast: Duration = .seconds(3000)

    /// The delay after a call that pruned that many records of its biggest sort.
    static func pruned(_ count: Int, took: Duration) -> Duration {
        Share.delay(after: took, atLeast: count >= batch ? more : interval)
    }
}

/// The share of time that a maintenance task may take.
enum Share {
    /// The delay after which a task that took this long has used 2 % of the time.
    static func delay(after took: Duration, atLeast interval: Duration) -> Duration { max(interval, took * 49) }
}
