import Errand
import Foundation

struct Greet: Job { static let kind: JobKind = "greet" }
struct TooEarly: Error {}
struct Greeter: JobHandler {
    func run(_ job: Greet, in context: JobContext) async throws -> Outcome {
        if context.attempt == 1 { throw TooEarly() }
        return .done
    }
}

do {
    let url = CommandLine.arguments.dropFirst().first ?? "postgresql:///greeter"
    let database = Database(configuration: try PostgresConfiguration(url: url))
    try await Queue(database: database).migrate()
    try await Queue(database: database).enqueue(Greet())
    try await Worker(database: database) { Greeter() }.run()
} catch {
    // An uncaught error would end the program with a crash trace.
    print("Greeter: \(error)")
    exit(1)
}
