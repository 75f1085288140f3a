import Errand
import Foundation

/// Tells the shop that the receipts of a month are out.
public struct ReportReceipts: Job {
    public static let kind: JobKind = "report_receipts"
    public let month: String
    /// Nil before the batch has ended.
    public var batch: BatchSummary?
}

public struct ReportReceiptsHandler: JobHandler {
    public init() {}

    public func run(_ job: ReportReceipts, in context: JobContext) async throws -> Outcome {
        guard let batch = job.batch else { return .cancel(reason: "this job comes after a batch") }
        return try .done("\(batch.total - batch.failed) of \(batch.total) receipts of \(job.month) are out")
    }
}

extension Shop {
    /// Sends these receipts again, and then reports how many are out. Returns the batch.
    public func sendReceipts(of month: String, orders: [UUID]) async throws -> Int64 {
        let batch = try await queue.openBatch(
            "receipts \(month)", onFinish: BatchCallback(ReportReceipts(month: month)))
        try await queue.enqueue(all: orders.map { SendReceipt(order: $0) }, .batch(batch))
        try await queue.closeBatch(batch)
        return batch
    }
}
