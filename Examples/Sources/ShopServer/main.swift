import Errand
import Foundation
import Logging
import ServiceLifecycle
import Shop

/// Writes mail to the log, where a real one would send it.
struct MailLog: MailService {
    let logger: Logger

    func sendReceipt(to customer: String, cents: Int) async throws {
        logger.info("mail", metadata: ["to": "\(customer)", "cents": "\(cents)"])
    }
}

/// Stands for your web server: takes an order a second.
struct Customers: Service {
    let shop: Shop

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                _ = try? await shop.order(customer: "anna", cents: 100)
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }
}

let logger = Logger(label: "shop")
do {
    let url = ProcessInfo.processInfo.environment["DATABASE_URL"] ?? "postgresql:///errand"
    let database = Database(configuration: try PostgresConfiguration(url: url), logger: logger)
    for statement in Shop.schema { try await database.execute(Statement(statement)) }
    try await database.execute(
        "insert into public.balance values ('anna', 1000000) on conflict (customer) do update set cents = 1000000")

    var configuration = WorkerConfiguration()
    configuration.queues = ["default": 4, "mail": 10, "payments": 10]
    configuration.memory = 1 << 30
    let worker = Worker(database: database, configuration: configuration, logger: logger) {
        SendReceiptHandler(mail: MailLog(logger: logger))
        ChargeCustomerHandler()
        ExportOrdersHandler { line in logger.info("\(line)") }
    }
    let services = ServiceGroup(
        services: [worker, Customers(shop: Shop(database: database))],
        gracefulShutdownSignals: [.sigterm, .sigint, .sighup], logger: logger)
    try await services.run()
    await database.close()
} catch {
    // An uncaught error would end the program with a crash trace.
    logger.critical("ended", metadata: ["error": "\(error)"])
    exit(1)
}
