import ArgumentParser
import Postgres

extension CompletionKind {
    /// The names of all queues in the database.
    static let queues = names("select queue from errand.queues")
    /// The names of all kinds that a worker has registered or that a job has.
    static let kinds = names("select kind from errand.kinds")
    /// The names of all schedules.
    static let schedules = names("select name from errand.schedules")
    /// The names of all circuits.
    static let circuits = names(CircuitCommand.allNames)

    /// The result of a query when Tab is pressed. After 2 s there is no completion: a shell that waits or shows errors
    /// would be worse.
    private static func names(_ query: String) -> CompletionKind {
        .custom { _, _, prefix in
            let names = try? await Environment.load().withConnection(
                statementTimeout: .seconds(2), needsSchema: false
            ) { connection in
                try await connection.query(Statement(query, [])).column(0, as: String.self)
            }
            return (names ?? []).filter { $0.hasPrefix(prefix) }.sorted()
        }
    }
}
