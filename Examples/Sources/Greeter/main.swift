import Errand
import Foundation
import Logging
import ServiceLifecycle

struct Greet: Job {
    static let kind: JobKind = "greet"
    var name: String
}

struct GreetHandler: JobHandler {
    func run(_ job: Greet, in context: JobContext) async throws -> Outcome {
        context.logger.info("Hello, \(job.name)!")
        return .done
    }
}

let logger = Logger(label: "greeter")
do {
    let url = ProcessInfo.processInfo.environment["DATABASE_URL"] ?? "postgresql:///errand"
    let database = Database(configuration: try PostgresConfiguration(url: url), logger: logger)
    let worker = Worker(database: database, logger: logger) { GreetHandler() }
    let queue = Queue(database: database)
    try await queue.migrate()
    try await queue.enqueue(Greet(name: "world"))
    let services = ServiceGroup(
        services: [worker], gracefulShutdownSignals: [.sigterm, .sigint, .sighup], logger: logger)
    try await services.run()
} catch {
    // An uncaught error would end the program with a crash trace.
    logger.critical("ended", metadata: ["error": "\(error)"])
    exit(1)
}
