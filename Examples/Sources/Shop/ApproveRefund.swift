import Errand
import Foundation

/// A refund that somebody has to approve within two days.
public struct ApproveRefund: Job {
    public static let kind: JobKind = "approve_refund"
    public let order: UUID

    public init(order: UUID) { self.order = order }
}

/// What the one who decides sends along.
public struct Approval: Decodable, Sendable { let approved: Bool }

public struct ApproveRefundHandler: JobHandler {
    let refund: @Sendable (UUID) async throws -> Void

    public init(refund: @escaping @Sendable (UUID) async throws -> Void) { self.refund = refund }

    public func run(_ job: ApproveRefund, in context: JobContext) async throws -> Outcome {
        guard let signal = context.signal else {
            return .wait(for: "approval/\(job.order)", until: context.createdAt + .seconds(2 * 86_400))
        }
        guard let approval = try signal.payload(as: Approval.self) else { return .cancel(reason: "nobody decided") }
        if approval.approved { try await refund(job.order) }
        return .done
    }
}
