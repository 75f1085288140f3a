import Errand
import Foundation
import Logging

/// Whatever sends mail.
public protocol MailService: Sendable {
    func sendReceipt(to customer: String, cents: Int) async throws
}

/// The errors of a mail server.
public enum MailError: Error {
    case unreachable
    case noSuchAddress(String)
}

/// A retry can help, unless the address doesn't exist.
extension MailError: ClassifiedError {
    public var isPermanent: Bool {
        switch self {
        case .unreachable: false
        case .noSuchAddress: true
        }
    }
}

public struct SendReceipt: Job {
    public static let kind: JobKind = "send_receipt"
    public static let policy = JobPolicy(
        queue: "mail",
        deadline: .seconds(20),
        retry: .exponential(attempts: 6, first: .seconds(2)),
        circuits: ["mail_server"])
    public var order: UUID

    public init(order: UUID) { self.order = order }
}

public struct SendReceiptHandler: JobHandler {
    let mail: any MailService

    public init(mail: any MailService) { self.mail = mail }

    public func run(_ job: SendReceipt, in context: JobContext) async throws -> Outcome {
        let rows = try await context.database.query(
            Statement("select customer, cents, paid_at is not null from public.orders where id = $1", [job.order]))
        guard let row = rows.first else { return .cancel(reason: "there is no such order") }
        let (customer, cents, isPaid) = try row.decode(String.self, Int.self, Bool.self)
        guard isPaid else { return .snooze(for: .seconds(60)) }
        do {
            try await mail.sendReceipt(to: customer, cents: cents)
        } catch MailError.unreachable {
            return .unavailable("mail_server", reason: "no connection")
        }
        context.logger.info("receipt sent", metadata: ["order": "\(job.order)"])
        return .done
    }
}
