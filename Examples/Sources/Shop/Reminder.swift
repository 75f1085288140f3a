import Errand
import Foundation

public struct Reminder: Job {
    public static let kind: JobKind = "reminder"
    public static let policy = JobPolicy(queue: "mail", priority: 4)
    public var order: UUID

    public init(order: UUID) { self.order = order }
}

public struct ReminderHandler: JobHandler {
    let remind: @Sendable (UUID) async throws -> Void

    public init(remind: @escaping @Sendable (UUID) async throws -> Void) { self.remind = remind }

    public func run(_ job: Reminder, in context: JobContext) async throws -> Outcome {
        try await remind(job.order)
        return .done
    }
}
