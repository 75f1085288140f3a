import ArgumentParser
import Postgres

/// Things of the database that have names: a shell completes them, and an unknown name is answered with the likely one.
struct Names: Sendable {
    let what: String
    let query: String

    static let queues = Names(what: "queue", query: "select queue from errand.queues")
    /// Those that a worker has registered or that a job has.
    static let kinds = Names(what: "kind", query: "select kind from errand.kinds")
    static let schedules = Names(what: "schedule", query: "select name from errand.schedules")
    /// Those that kinds need or that were ever open.
    static let circuits = Names(
        what: "circuit", query: "select name from errand.circuits union select unnest(circuits) from errand.kinds")
    static let endpoints = Names(what: "endpoint", query: "select name from errand.endpoints")

    func all(on connection: Connection) async throws -> [String] {
        try await connection.query(Statement(query, [])).column(0, as: String.self)
    }

    /// - Parameter more: the end of the error's text.
    /// - Throws: ``Failure`` with the most similar name.
    func require(_ name: String, on connection: Connection, more: String = "") async throws {
        if let unknown = try await unknown(name, on: connection, more: more) { throw unknown }
    }

    /// Warns of an unknown name on standard error.
    func hint(at name: String, on connection: Connection) async throws {
        if let unknown = try await unknown(name, on: connection) { writeError("errand: \(unknown.message)") }
    }

    private func unknown(_ name: String, on connection: Connection, more: String = "") async throws -> Failure? {
        let known = try await all(on: connection)
        if known.contains(name) { return nil }
        let near = known.closest(to: name).map { "; did you mean \($0)?" } ?? ""
        return Failure(code: Failure.failed, "there is no \(what) '\(name)'\(near)\(more)")
    }
}

extension CompletionKind {
    static let queues = names(.queues)
    static let kinds = names(.kinds)
    static let schedules = names(.schedules)
    static let circuits = names(.circuits)
    static let endpoints = names(.endpoints)

    /// The names when Tab is pressed. After 2 s there is no completion: a shell that waits or shows errors would be
    /// worse.
    private static func names(_ names: Names) -> CompletionKind {
        .custom { _, _, prefix in
            let all = try? await Environment.load().withConnection(
                statementTimeout: .seconds(2), needsSchema: false, names.all)
            return (all ?? []).filter { $0.hasPrefix(prefix) }.sorted()
        }
    }
}
