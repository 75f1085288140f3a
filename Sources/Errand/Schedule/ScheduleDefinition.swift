import Postgres

/// The policy for missed ticks: those that no scheduler could enqueue in time.
public enum MissedTicks: String, Sendable, Hashable, CaseIterable {
    /// Missed ticks are recorded as skipped.
    case skip
    /// The newest missed tick gets a job; the others are recorded as coalesced. If a later tick is in time, its job
    /// stands for all missed ones.
    case latest
    /// Each missed tick gets a job, the newest ones up to a bound.
    case all
}

/// What a tick does while the job of an earlier tick is unfinished: waiting, running or to be retried.
public enum TickOverlap: String, Sendable, Hashable, CaseIterable {
    /// It gets its job all the same.
    case allow
    /// It gets no job, and is recorded as overlapped.
    case skip
    /// The earlier job is cancelled.
    case replace
}

/// A schedule that the program defines. A scheduler stores it when it starts, and again after it has changed.
///
/// ```swift
/// let times = ScheduleDefinition.Times.cron("0 6 * * *", timeZone: "Europe/Paris")
/// var report = try ScheduleDefinition("daily_report", times, job: DailyReport())
/// report.overlap = .skip
/// ```
/// Changes by `errand.put_schedule` last until the definition in the program changes.
public struct ScheduleDefinition: Sendable {
    /// When it ticks.
    public enum Times: Sendable, Hashable {
        /// At whole multiples of the duration since 1970 in UTC; at least 1 s.
        case every(Duration)
        /// On the local clock of an IANA time zone, such as `0 6 * * MON-FRI`. The database reads it: a scheduler logs
        /// why it is refused, when it starts.
        case cron(String, timeZone: String = "UTC")
    }

    /// a-z, then up to 99 of a-z 0-9 `_` `.` `-`; the name identifies the schedule, for ever.
    public let name: String
    public let times: Times
    public let missed: MissedTicks
    /// A tick that is later than this counts as missed.
    public let maxLateness: Duration
    /// With ``MissedTicks/all``: the most missed ticks to enqueue.
    public let maxCatchUp: Int
    public var overlap = TickOverlap.allow
    /// Each job starts within this time after its tick, up to a day: the same tick always at the same moment.
    public var jitter = Duration.zero
    /// There is no tick before. Default nil: from its creation on.
    public var startsAt: Timestamp?
    /// There is no tick from then on. Default nil: it has no end.
    public var endsAt: Timestamp?
    /// The priority of its jobs. Default nil: the kind's.
    public var priority: Int?
    /// The tags of its jobs.
    public var tags: [String] = []
    /// The key of the limit of its jobs. Default nil: the kind's.
    public var limitKey: String?
    /// The user whose jobs they are: an erasure drops the schedule.
    public var subject: String?
    let kind: JobKind
    let queue: String?
    let payload: JSONB

    /// - Parameters:
    ///   - name: what people see, unique in the database.
    ///   - times: when it ticks.
    ///   - job: what each tick enqueues.
    ///   - missed: the policy for missed ticks. Default: the latest is enqueued.
    ///   - queue: default nil: the queue of the job's policy.
    ///   - maxLateness: how late a tick may be enqueued before it counts as missed. Default 60 s.
    ///   - maxCatchUp: the most missed ticks to enqueue, with ``MissedTicks/all``. Default 100.
    /// - Throws: an `EncodingError` if the job has no JSON form.
    public init<J: Job>(
        _ name: String, _ times: Times, job: J, missed: MissedTicks = .latest, queue: String? = nil,
        maxLateness: Duration = .seconds(60), maxCatchUp: Int = 100
    ) throws {
        self.init(
            name, times, kind: J.kind, payload: try JSONB(encoding: job), missed: missed,
            queue: queue ?? J.policy.queue,
            maxLateness: maxLateness, maxCatchUp: maxCatchUp)
    }

    /// The same for a kind that this program doesn't define, such as one whose handler is a SQL function.
    ///
    /// - Parameters:
    ///   - name: what people see, unique in the database.
    ///   - times: when it ticks.
    ///   - kind: the kind of the job that each tick enqueues.
    ///   - payload: the payload of that job. Default: an empty object.
    ///   - missed: the policy for missed ticks. Default: the latest is enqueued.
    ///   - queue: default nil: the queue of the kind.
    ///   - maxLateness: how late a tick may be enqueued before it counts as missed. Default 60 s.
    ///   - maxCatchUp: the most missed ticks to enqueue, with ``MissedTicks/all``. Default 100.
    public init(
        _ name: String, _ times: Times, kind: JobKind, payload: JSONB = JSONB("{}"), missed: MissedTicks = .latest,
        queue: String? = nil, maxLateness: Duration = .seconds(60), maxCatchUp: Int = 100
    ) {
        self.name = name
        self.times = times
        self.kind = kind
        self.payload = payload
        self.missed = missed
        self.queue = queue
        self.maxLateness = maxLateness
        self.maxCatchUp = maxCatchUp
    }

    /// Stores the definition, and returns `created`, `changed` or `unchanged`.
    var statement: Statement {
        let (cron, timeZone) =
            switch times {
            case .every(let interval): ("every \(interval.wholeMicroseconds) us", "UTC")
            case .cron(let expression, let timeZone): (expression, timeZone)
            }
        return Statement(
            """
            select errand_internal.schedule_define_v1(
                $1, $2, $3, $4, $5, $6, $7, $8 * interval '1 microsecond', $9::int4, null, $10::int4, $11, $12, $13,
                $14, $15 * interval '1 microsecond', $16, $17)
            """,
            [
                name, cron, kind.rawValue, payload, timeZone, missed.rawValue, queue, maxLateness.wholeMicroseconds,
                maxCatchUp, priority, tags, limitKey, subject, overlap.rawValue, jitter.wholeMicroseconds, startsAt,
                endsAt,
            ])
    }
}
