import Errand
import Foundation

public struct ExportOrders: Job {
    public static let kind: JobKind = "export_orders"
    public static let policy = JobPolicy(
        deadline: .seconds(600), retention: JobRetention(ended: .seconds(86_400)), memory: 32 << 20)
    public var customer: String
    /// `csv` if an older payload doesn't say.
    public var format: String

    public init(customer: String, format: String = "csv") {
        self.customer = customer
        self.format = format
    }

    public init(payload: JSONB) throws {
        struct Stored: Decodable {
            let customer: String
            let format: String?
        }
        let stored = try payload.decode(Stored.self)
        self.init(customer: stored.customer, format: stored.format ?? "csv")
    }
}

public struct ExportOrdersHandler: JobHandler {
    let write: @Sendable (String) async throws -> Void

    public init(write: @escaping @Sendable (String) async throws -> Void) { self.write = write }

    public func run(_ job: ExportOrders, in context: JobContext) async throws -> Outcome {
        guard job.format == "csv" else { return .fail(reason: "format: expected csv, got \(job.format)") }
        let orders = try await context.database.query(
            Statement("select id, cents from public.orders where customer = $1 order by id", [job.customer]))
        for (index, row) in orders.enumerated() {
            // Where the attempt is to stop, this throws: what was written so far is written again by the next one.
            try Task.checkCancellation()
            let (id, cents) = try row.decode(UUID.self, Int.self)
            try await write("\(id),\(cents)")
            context.progress(Double(index + 1) / Double(orders.count), "order \(index + 1) of \(orders.count)")
            try context.output(["orders": index + 1])
        }
        return try .done(["orders": orders.count])
    }
}

public struct ZipExport: Job {
    public static let kind: JobKind = "zip_export"
    public var bytes: Int

    public init(bytes: Int) { self.bytes = bytes }
}

public struct ZipExportHandler: JobHandler {
    let zip: @Sendable (Int) async throws -> Void

    public init(zip: @escaping @Sendable (Int) async throws -> Void) { self.zip = zip }

    public func run(_ job: ZipExport, in context: JobContext) async throws -> Outcome {
        try await context.withMemory(job.bytes * 2) {
            try await zip(job.bytes)
        }
        return .done
    }
}
