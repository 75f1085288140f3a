import Postgres

/// A choice for the jobs of one enqueue. What isn't chosen is as the kind's policy says.
public struct EnqueueOption: Sendable {
    let apply: @Sendable (inout Values) -> Void

    package struct Values: Sendable {
        package var queue: String?
        package var priority: Int?
        package var maxAttempts: Int?
        package var uniqueKey: String?
        package var onConflict = Conflict.keep
        package var runAt: Timestamp?
        package var delay: Duration?
        package var notAfter: Timestamp?
        package var limitKey: String?
        package var guardName: String?
        package var tags: [String] = []
        package var traceparent: String?

        /// Whether one is chosen that the short form of a bulk enqueue doesn't know.
        var needsWholeForm: Bool {
            uniqueKey != nil || notAfter != nil || limitKey != nil || guardName != nil || !tags.isEmpty
                || traceparent != nil
        }
    }

    package static func values(of options: [EnqueueOption]) -> Values {
        var values = Values()
        for option in options { option.apply(&values) }
        values.traceparent = values.traceparent ?? TraceParent.current?.text
        return values
    }

    /// Several choices as one, for who has them in an array.
    package static func all(_ options: [EnqueueOption]) -> Self {
        .init { values in
            for option in options { option.apply(&values) }
        }
    }
}

/// What becomes of a unique key that an unfinished job has. One that is running stays as it is in any case.
public enum Conflict: String, Sendable, Hashable {
    /// That job stays as it is.
    case keep
    /// That job becomes what this enqueue asks for, with all attempts to spend. Its id and its record stay.
    case replace
    /// That job is moved to this enqueue's time, and keeps all else.
    case reschedule
    /// The enqueue fails with `ER409`.
    case error
}

// MARK: - When
extension EnqueueOption {
    /// Not to be started before `time`.
    public static func at(_ time: Timestamp) -> Self { .init { $0.runAt = time } }

    /// Not to be started before `delay` has passed, counted by the database's clock from the start of the transaction.
    public static func after(_ delay: Duration) -> Self { .init { $0.delay = delay } }

    /// Not to be started after `time`: then the job is obsolete.
    public static func notAfter(_ time: Timestamp) -> Self { .init { $0.notAfter = time } }
}

// MARK: - Where and how
extension EnqueueOption {
    /// Into another queue than the kind's.
    public static func queue(_ name: String) -> Self { .init { $0.queue = name } }

    /// 1 (first) to 4 (last).
    public static func priority(_ priority: Int) -> Self { .init { $0.priority = priority } }

    /// Attempts in all, 1 to 1000.
    public static func maxAttempts(_ count: Int) -> Self { .init { $0.maxAttempts = count } }

    /// At most one unfinished job has the key, up to 500 characters; default: a second enqueue returns the first job.
    public static func unique(_ key: String, onConflict: Conflict = .keep) -> Self {
        .init { values in
            values.uniqueKey = key
            values.onConflict = onConflict
        }
    }

    /// Counts under a limit of running jobs that ops set with `errand.set_limit`; up to 500 characters. Instead of the
    /// kind's.
    public static func limited(by key: String) -> Self { .init { $0.limitKey = key } }

    /// Asks a registered SQL function (`errand.guard_put`) before the start and at the end whether the job is still
    /// wanted.
    public static func guarded(by name: String) -> Self { .init { $0.guardName = name } }

    /// Words to find the job by: at most 20.
    public static func tags(_ tags: String...) -> Self { .init { $0.tags = tags } }

    /// The trace that the job belongs to, as W3C Trace Context writes it: `00-…-…-01`. Default: that of the span around
    /// the call, where the program has a tracer.
    public static func traceparent(_ traceparent: String) -> Self { .init { $0.traceparent = traceparent } }
}
