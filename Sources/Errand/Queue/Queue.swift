import Postgres

/// Enqueues jobs.
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
    /// Of all copies of the queue.
    let follower: Follower
    let middleware: MiddlewareChain

    /// - Parameters:
    ///   - database: where the jobs are.
    ///   - middleware: what encodes the payloads, as the middleware of the workers decodes them.
    public init(database: Database, middleware: [any Middleware] = []) {
        self.database = database
        self.middleware = MiddlewareChain(middleware)
        follower = Follower(of: database)
    }
}
