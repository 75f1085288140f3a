import ErrandTestKit
import Foundation
import Postgres
import Testing

/// A front with its cells, each a test's database, made by the program.
struct Front {
    let database: Database
    let configuration: PostgresConfiguration
    let cells: [Database]
    let configurations: [PostgresConfiguration]

    func url(of configuration: PostgresConfiguration) throws -> String {
        try TestServer.url(of: configuration, directly: true)
    }

    /// Runs the program with this front and, as ERRAND_CELL_URL, a cell.
    func run(_ arguments: [String], cell: String? = nil) async throws -> Program {
        let first = try url(of: configurations[0])
        return try await Program.run(
            arguments, settings: ["DATABASE_URL": try url(of: configuration), "ERRAND_CELL_URL": cell ?? first])
    }

    func add(cell number: Int) async throws {
        let cell = try url(of: configurations[number])
        let migration = try await Program.run(["migrate", "--cell", "\(number)"], settings: ["DATABASE_URL": cell])
        try #require(migration.code == 0, "\(migration.errors)")
        let addition = try await run(["cells", "add"], cell: cell)
        try #require(addition.code == 0, "\(addition.errors)")
    }
}

/// Runs `body` with a front of that many cells, and with one more database that can become another.
func withFront(cells: Int, _ body: (Front) async throws -> Void) async throws {
    try await withDatabases(cells + 2) { databases in
        let front = Front(
            database: databases[0].0, configuration: databases[0].1, cells: databases.dropFirst().map(\.0),
            configurations: databases.dropFirst().map(\.1))
        try await front.database.dropSchemas()
        let made = try await front.run(["cells", "front"])
        try #require(made.code == 0, "\(made.errors)")
        for number in 0..<cells { try await front.add(cell: number) }
        try await body(front)
    }
}

private func withDatabases(
    _ count: Int, _ body: ([(Database, PostgresConfiguration)]) async throws -> Void
) async throws {
    guard count > 0 else { return try await body([]) }
    try await withTestDatabase { database, configuration in
        try await withDatabases(count - 1) { try await body([(database, configuration)] + $0) }
    }
}
