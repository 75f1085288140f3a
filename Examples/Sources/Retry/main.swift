import Errand

struct Greet: Job { static let kind: JobKind = "greet" }
struct TooEarly: Error {}
struct Greeter: JobHandler {
    func run(_ job: Greet, in context: JobContext) async throws -> Outcome {
        if context.attempt == 1 { throw TooEarly() }
        return .done
    }
}

let database = Database(configuration: try PostgresConfiguration(url: CommandLine.arguments[1]))
try await Queue(database: database).migrate()
try await Queue(database: database).enqueue(Greet())
try await Worker(database: database) { Greeter() }.run()
