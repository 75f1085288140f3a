import Postgres

/// An option of an enqueue. Options that aren't given follow the kind's policy.
public struct EnqueueOption: Sendable {
    let apply: @Sendable (inout Values) -> Void

    package struct Values: Sendable {
        package var queue: String?
        package var priority: Int?
        package var maxAttempts: Int?
        package var uniqueKey: String?
        package var onConflict = Conflict.keep
        package var uniqueFor: Duration?
        package var uniqueWhile: UniqueSpan?
        package var noLaterThan: Duration?
        package var runAt: Timestamp?
        package var delay: Duration?
        package var notAfter: Timestamp?
        /// In place of `notAfter`: so long from now, by the database's clock.
        package var notAfterDelay: Duration?
        package var limitKey: String?
        package var rateKey: String?
        package var guardName: String?
        package var tags: [String] = []
        package var subject: String?
        package var forWorker = WorkerOptions()
        package var follow = false
        package var parents: [Int64] = []
        package var ifParentFails = ParentFailure.wait
        package var orderKey: String?
        package var ifHeadFails: HeadFailure?
        package var batch: Int64?

        package init() {}

        /// `forWorker` as errand.enqueue takes it.
        var options: JSONB? {
            get throws { forWorker == WorkerOptions() ? nil : try JSONB(encoding: forWorker) }
        }

        /// Whether an option is set that the short form of a bulk enqueue doesn't support.
        var needsWholeForm: Bool {
            uniqueKey != nil || notAfter != nil || limitKey != nil || rateKey != nil || guardName != nil
                || !tags.isEmpty || subject != nil || forWorker != WorkerOptions() || follow || !parents.isEmpty
                || orderKey != nil || ifHeadFails != nil || batch != nil
        }

        /// The enqueue of one job. It returns `job_id`, `inserted` and `state`.
        package func statement(
            of kind: JobKind, _ payload: JSONB, kindDefaults: JSONB? = nil
        ) throws -> Statement {
            Statement(
                """
                select job_id, inserted, state
                from errand.enqueue(
                    $1, $2, $3, coalesce($4, now() + $5 * interval '1 microsecond'), $6::int4, $7::int4, $8,
                    coalesce($9, now() + $10 * interval '1 microsecond'), $11, $12, $13, $14, $15, $16, $17, $18, $19,
                    $20, rate_key => $21, unique_for => $22 * interval '1 microsecond', unique_while => $23,
                    no_later_than => $24 * interval '1 microsecond', order_key => $25, if_head_fails => $26,
                    batch => $27)
                """,
                [
                    kind.rawValue, payload, queue, runAt, delay?.wholeMicroseconds, priority, maxAttempts, uniqueKey,
                    notAfter, notAfterDelay?.wholeMicroseconds, onConflict.rawValue, limitKey, guardName,
                    tags.isEmpty ? nil : tags, subject, try options, follow, kindDefaults,
                    parents.isEmpty ? nil : parents, ifParentFails.rawValue, rateKey, uniqueFor?.wholeMicroseconds,
                    uniqueWhile?.rawValue, noLaterThan?.wholeMicroseconds, orderKey, ifHeadFails?.rawValue, batch,
                ])
        }
    }

    package static func values(of options: [EnqueueOption]) -> Values {
        var values = Values()
        for option in options { option.apply(&values) }
        values.forWorker.traceparent = values.forWorker.traceparent ?? TraceParent.current?.text
        return values
    }

    /// Several options as one.
    package static func all(_ options: [EnqueueOption]) -> Self {
        .init { values in
            for option in options { option.apply(&values) }
        }
    }
}

/// What happens if an unfinished job already has the unique key.
///
/// A running job stays as it is, unless it is superseded or the key is wanted for while a job waits.
public enum Conflict: String, Sendable, Hashable, CaseIterable {
    /// The existing job stays as it is.
    case keep
    /// The existing job gets the content of this enqueue and all its attempts. Its id and its record stay.
    case replace
    /// The existing job is moved to this enqueue's time. Everything else stays.
    case reschedule
    /// The fields, or the elements, of this enqueue's payload are added to the existing job's. Everything else stays.
    /// A job gives up such a key once it starts, so what comes then is a new job.
    case merge
    /// A waiting job is replaced. A running one is cancelled, and this job is new.
    case supersede
    /// The enqueue fails with `ER409`.
    case error
}

/// When a job has its unique key.
public enum UniqueSpan: String, Sendable, Hashable, CaseIterable {
    /// From its enqueue until it starts. If it waits again, it has the key unless another job has got it by then.
    case waiting
    /// From its enqueue until it ends.
    case unfinished
}

/// What becomes of a job if one that it waits for fails for good, is cancelled or becomes obsolete.
public enum ParentFailure: String, Sendable, Hashable, CaseIterable {
    /// The job waits on: the other one may be retried.
    case wait
    /// The job starts all the same, once the others have ended.
    case goOn = "go_on"
    /// The job is cancelled, and so are those that wait for it with this.
    case cancel
}

// MARK: - When
extension EnqueueOption {
    /// The job doesn't start before `time`, at most 10 years from now.
    public static func at(_ time: Timestamp) -> Self { .init { $0.runAt = time } }

    /// The job doesn't start before `delay` has passed, counted by the database's clock from the start of the
    /// transaction.
    public static func after(_ delay: Duration) -> Self { .init { $0.delay = delay } }

    /// The job waits until these jobs have succeeded, at most 1,000. Its handler may read their outputs:
    /// ``JobContext/parents()``.
    public static func after(_ jobs: [Int64], ifParentFails: ParentFailure = .wait) -> Self {
        .init { values in
            values.parents = jobs
            values.ifParentFails = ifParentFails
        }
    }

    /// The job doesn't start after `time`. Then it becomes obsolete, and its unique key is free.
    public static func notAfter(_ time: Timestamp) -> Self { .init { $0.notAfter = time } }
}

// MARK: - Where and how
extension EnqueueOption {
    /// Enqueues into another queue than the kind's.
    public static func queue(_ name: String) -> Self { .init { $0.queue = name } }

    /// 1 (first) to 4 (last).
    public static func priority(_ priority: Int) -> Self { .init { $0.priority = priority } }

    /// Attempts in all, 1 to 1000.
    public static func maxAttempts(_ count: Int) -> Self { .init { $0.maxAttempts = count } }

    /// At most one unfinished job has this key of up to 500 characters. Default: a second enqueue returns the first
    /// job.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - onConflict: what happens if an unfinished job has it.
    ///   - span: when the job has the key. Default: until it has ended, or until it starts with
    ///     ``Conflict/merge`` and `noLaterThan`.
    ///   - period: no other enqueue with a period gets the key for that long after this one, up to a year, even once
    ///     the job has ended. It ends early if the job is cancelled or discarded.
    ///   - noLaterThan: with ``Conflict/reschedule``, a job is due at most so long after its own enqueue, however often
    ///     it is moved. Up to a year.
    public static func unique(
        _ key: String, onConflict: Conflict = .keep, while span: UniqueSpan? = nil, for period: Duration? = nil,
        noLaterThan: Duration? = nil
    ) -> Self {
        .init { values in
            values.uniqueKey = key
            values.onConflict = onConflict
            values.uniqueWhile = span
            values.uniqueFor = period
            values.noLaterThan = noLaterThan
        }
    }

    /// The key of the limit that the job counts under, up to 500 characters, instead of the kind's. Operators set
    /// limits with `errand.set_limit`.
    public static func limited(by key: String) -> Self { .init { $0.limitKey = key } }

    /// The key of the rate that the job starts under, up to 500 characters, instead of the kind's. Operators set rates
    /// with `errand.set_key_rate`.
    public static func rated(by key: String) -> Self { .init { $0.rateKey = key } }

    /// Jobs with the same key of up to 500 characters run one after the other, in the order of their ids, of whatever
    /// kind and queue. `ifHeadFails` says what a failure of this one does to those behind it; nil is the kind's
    /// policy, else ``HeadFailure/block``.
    public static func ordered(by key: String, ifHeadFails: HeadFailure? = nil) -> Self {
        .init { values in
            values.orderKey = key
            values.ifHeadFails = ifHeadFails
        }
    }

    /// A registered SQL function (`errand.put_guard`) says before the start and at the completion whether the
    /// job is still wanted.
    public static func guarded(by name: String) -> Self { .init { $0.guardName = name } }

    /// The job is one of a batch: ``Queue/openBatch(_:onSuccess:onFinish:onFailure:)``. A job that was there before,
    /// with the same unique key, isn't added.
    public static func batch(_ id: Int64) -> Self { .init { $0.batch = id } }

    /// Words to find the job by: at most 20.
    public static func tags(_ tags: String...) -> Self { .init { $0.tags = tags } }

    /// The trace of the job, in W3C Trace Context format: `00-…-…-01`. Default: the trace of the caller's span, if the
    /// program has a tracer.
    public static func traceparent(_ traceparent: String) -> Self { .init { $0.forWorker.traceparent = traceparent } }

    /// The job is the caller's own: its login may see it, wait for its result and cancel it, and so may the members of
    /// that role. See ``Queue/result(of:as:timeout:)``.
    public static var followed: Self { .init { $0.follow = true } }

    /// The user whose job it is, 1 to 200 characters: `people.erase` cancels and blanks the jobs with this subject, and
    /// no others.
    public static func subject(_ user: String) -> Self { .init { $0.subject = user } }
}
