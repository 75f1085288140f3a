import Postgres

/// Puts jobs in line.
///
/// ```swift
/// let queue = Queue(database: database)
/// try await database.transaction { transaction in
///     try await transaction.execute(Statement("insert into orders …"))
///     try await queue.enqueue(SendReceipt(order: id), in: transaction, .after(.seconds(60)))
/// }
/// ```
/// Within a transaction the job exists if and when that commits: no receipt for an order that was rolled back.
public struct Queue: Sendable {
    let database: Database

    public init(database: Database) {
        self.database = database
    }
}

/// A choice for the jobs of one enqueue. What isn't chosen is as the kind's policy says.
public struct EnqueueOption: Sendable {
    let apply: @Sendable (inout Values) -> Void

    struct Values: Sendable {
        var queue: String?
        var priority: Int?
        var maxAttempts: Int?
        var uniqueKey: String?
        var runAt: Timestamp?
        var delay: Duration?
    }

    static func values(of options: [EnqueueOption]) -> Values {
        var values = Values()
        for option in options { option.apply(&values) }
        return values
    }
}

extension EnqueueOption {
    /// Not to be started before `time`.
    public static func at(_ time: Timestamp) -> Self { .init { $0.runAt = time } }

    /// Not to be started before `delay` has passed, counted by the database's clock from the start of the transaction.
    public static func after(_ delay: Duration) -> Self { .init { $0.delay = delay } }

    /// Into another queue than the kind's.
    public static func queue(_ name: String) -> Self { .init { $0.queue = name } }

    /// 1 (first) to 4 (last).
    public static func priority(_ priority: Int) -> Self { .init { $0.priority = priority } }

    /// Attempts in all, 1 to 1000.
    public static func maxAttempts(_ count: Int) -> Self { .init { $0.maxAttempts = count } }

    /// At most one unfinished job has the key, up to 500 characters: a second enqueue answers with the first job.
    public static func unique(_ key: String) -> Self { .init { $0.uniqueKey = key } }
}
