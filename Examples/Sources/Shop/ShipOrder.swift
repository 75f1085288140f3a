import Errand
import Foundation

/// Has an order picked up by a carrier, and takes what that costs from the customer's balance.
public struct ShipOrder: Job {
    public static let kind: JobKind = "ship_order"
    public let order: UUID

    public init(order: UUID) { self.order = order }
}

public struct Shipment: Codable, Sendable {
    public let number: String
    public let cents: Int

    public init(number: String, cents: Int) {
        self.number = number
        self.cents = cents
    }
}

public protocol Carrier: Sendable {
    /// Sends a van, each time it is called.
    func book(_ order: UUID) async throws -> Shipment
    func hasPickedUp(_ shipment: Shipment) async throws -> Bool
}

public struct ShipOrderHandler: JobHandler {
    let carrier: any Carrier

    public init(carrier: any Carrier) { self.carrier = carrier }

    public func run(_ job: ShipOrder, in context: JobContext) async throws -> Outcome {
        let shipment = try await context.step("book") { try await carrier.book(job.order) }
        try await context.stepTransaction("charge") { transaction in
            try await transaction.execute(
                Statement(
                    """
                    update public.balance
                    set cents = balance.cents - $2::int4
                    from public.orders
                    where orders.id = $1 and balance.customer = orders.customer
                    """, [job.order, shipment.cents]))
        }
        guard try await carrier.hasPickedUp(shipment) else { return .snooze(for: .seconds(3600)) }
        return try .done(shipment)
    }
}

extension Shop {
    /// Ships an order of a customer once those before it are through.
    public func ship(_ order: UUID, to customer: String) async throws {
        try await queue.enqueue(ShipOrder(order: order), .ordered(by: "customer/\(customer)"))
    }
}
