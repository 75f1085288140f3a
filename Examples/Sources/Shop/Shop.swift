import Errand
import Foundation

/// A shop that takes orders. Each one is written together with the jobs that it needs.
public struct Shop: Sendable {
    /// The shop's own tables and guard, statement by statement: it brings them itself. Errand's come by `errand
    /// migrate`.
    public static let schema = [
        """
        create table if not exists public.orders (
            id uuid primary key,
            customer text not null,
            cents int not null,
            paid_at timestamptz
        )
        """,
        "create table if not exists public.balance (customer text primary key, cents int not null)",
        """
        create or replace function public.order_is_unpaid(payload jsonb) returns boolean
        language sql stable security definer set search_path = pg_catalog, pg_temp as $$
            select exists (select from public.orders where id = (payload ->> 'order')::uuid and paid_at is null)
        $$
        """,
        "select errand.put_guard('order_is_unpaid', 'public.order_is_unpaid')",
    ]

    let database: Database
    let queue: Queue

    public init(database: Database) {
        self.database = database
        queue = Queue(database: database)
    }

    /// Writes the order and its jobs in one transaction: either all of them are there, or none.
    @discardableResult
    public func order(customer: String, cents: Int) async throws -> UUID {
        let order = UUID()
        try await database.transaction { transaction in
            try await transaction.execute(
                Statement(
                    "insert into public.orders (id, customer, cents) values ($1, $2, $3::int4)",
                    [order, customer, cents]))
            try await queue.enqueue(ChargeCustomer(order: order), in: transaction, .unique("charge/\(order)"))
            try await queue.enqueue(SendReceipt(order: order), in: transaction, .after(.seconds(60)), .tags("receipt"))
        }
        return order
    }

    /// Reminds the customer in a day, unless the order has been paid by then, and not later than in two days.
    public func remind(of order: UUID) async throws {
        let days = Timestamp(.now) + .seconds(2 * 86_400)
        try await queue.enqueue(
            Reminder(order: order), .after(.seconds(86_400)), .notAfter(days), .guarded(by: "order_is_unpaid"))
    }
}
