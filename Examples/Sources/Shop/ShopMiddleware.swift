import Errand
import Logging

/// The customer's country whose rules a job follows, from its tag `country/xx`.
public enum Country {
    @TaskLocal public static var current: String?
}

/// Says how long each attempt took, and lets handlers know their country.
public struct ShopMiddleware: Middleware {
    public init() {}

    public func run(
        _ context: JobContext, _ next: @Sendable () async throws -> Outcome
    ) async throws -> Outcome {
        let start = ContinuousClock.now
        defer { context.logger.info("took \(ContinuousClock.now - start)") }
        let country = context.tags.first { $0.hasPrefix("country/") }?.dropFirst(8)
        return try await Country.$current.withValue(country.map(String.init)) { try await next() }
    }
}

/// The queue and the worker of a shop whose payloads nobody else reads.
public func encrypted(
    _ database: Database, keys text: String, mail: any MailService, logger: Logger
) throws -> (Queue, Worker) {
    let encryption = PayloadEncryption(try PayloadKeys(text))
    let queue = Queue(database: database, middleware: [encryption])
    let worker = Worker(database: database, logger: logger, middleware: [ShopMiddleware(), encryption]) {
        SendReceiptHandler(mail: mail)
        ChargeCustomerHandler()
    }
    return (queue, worker)
}
