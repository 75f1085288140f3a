import Errand
import Foundation

public struct ChargeCustomer: Job {
    public static let kind: JobKind = "charge_customer"
    public static let policy = JobPolicy(queue: "payments", priority: 1, limit: 10)
    public var order: UUID

    public init(order: UUID) { self.order = order }
}

public struct ChargeCustomerHandler: JobHandler {
    public init() {}

    public func run(_ job: ChargeCustomer, in context: JobContext) async throws -> Outcome {
        try await context.transaction { transaction in
            let charged = try await transaction.query(
                Statement(
                    """
                    update public.balance
                    set cents = balance.cents - orders.cents
                    from public.orders
                    where orders.id = $1 and balance.customer = orders.customer and balance.cents >= orders.cents
                    returning balance.cents
                    """, [job.order]))
            guard let left = try charged.first?.decode(Int.self) else { return .fail(reason: "the balance is too low") }
            try await transaction.execute(
                Statement("update public.orders set paid_at = now() where id = $1", [job.order]))
            return try .done(["left": left])
        }
    }
}

/// An order that can't be charged is off.
extension ChargeCustomerHandler: FailureHandler {
    public func failed(
        _ job: ChargeCustomer, _ failure: JobFailure, in context: JobContext
    ) async throws -> Outcome {
        try await context.database.execute(
            Statement("delete from public.orders where id = $1 and paid_at is null", [job.order]))
        return .done
    }
}
