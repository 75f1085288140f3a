import ArgumentParser
import Postgres

extension CompletionKind {
    /// The names of all queues in the database.
    static let queues = names("select queue from errand.queue_status")
    /// The names of all kinds that a worker has brought or that a job has.
    static let kinds = names("select kind from errand.kind_status")
    /// The names of all schedules.
    static let schedules = names("select name from errand.schedule_status")
    /// The names of all that jobs need from outside.
    static let dependencies = names(DependencyCommand.allNames)

    /// What a query answers at the moment when somebody presses Tab. Nothing within 2 s is nothing at all: a shell that
    /// waits or shows errors then would be worse than one that doesn't know.
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
