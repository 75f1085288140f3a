import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

/// Two statements, the second of which runs in a transaction whose snapshot is older than the first one's commit.
struct Race: Sendable {
    let name: String
    /// The initial rows.
    let given: [String]
    let first: String
    /// Selects a text.
    let second: String
    /// The result of the second statement, or its SQLSTATE, at READ COMMITTED.
    let expected: String
    /// A condition that holds afterwards at every isolation level.
    let invariant: String

    init(_ name: String, given: [String], _ first: String, _ second: String, _ expected: String, holds: String) {
        (self.name, self.given, self.first, self.second) = (name, given, first, second)
        (self.expected, invariant) = (expected, holds)
    }

    static let levels = ["read committed", "repeatable read", "serializable"]

    /// Runs the races one after the other, each with the rows that it is given.
    ///
    /// - Parameter tables: what the older transaction has read.
    static func run(_ races: [Race], at level: String, reading tables: String) async throws {
        try await withAppDatabase { database, _ in
            let empty = try await database.emptyTables()
            for race in races {
                try await race.run(at: level, reading: tables, in: database)
                try await database.empty(empty)
            }
        }
    }

    private func run(at level: String, reading tables: String, in database: Database) async throws {
        for statement in given { try await database.execute(Statement(statement)) }
        let begin = Statement("set transaction isolation level \(level)")
        var outcome: String?
        do {
            outcome = try await database.transaction { transaction in
                try await transaction.execute(begin)
                // This takes its snapshot.
                try await transaction.execute(Statement("select count(*) from \(tables)"))
                try await database.transaction { other in
                    try await other.execute(begin)
                    try await other.execute(Statement(first))
                }
                return try await transaction.query(Statement(second)).scalar(String?.self)
            }
        } catch let error as PostgresError {
            outcome = error.sqlState
        }
        let allowed = level == "read committed" ? [expected] : [expected, "40001"]
        #expect(allowed.contains(outcome ?? ""), "\(name): \(outcome ?? "null")")
        let holds = try await database.query(Statement("select \(invariant)")).scalar(Bool.self)
        #expect(holds, "\(name)")
    }
}

extension Database {
    /// The tables of a new database without rows.
    fileprivate func emptyTables() async throws -> [String] {
        let tables = try await query(
            """
            select oid::regclass::text
            from pg_class
            where relkind in ('r', 'p') and not relispartition
                and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
            """
        ).column(0, as: String.self)
        let all = tables.map { "select '\($0)' where not exists (select from \($0))" }
        return try await query(Statement(all.joined(separator: " union all "))).column(0, as: String.self)
    }

    /// Deletes all rows of these tables, without their triggers: faster than another database.
    fileprivate func empty(_ tables: [String]) async throws {
        let filled = tables.map { "select '\($0)' where exists (select from \($0))" }
        let names = try await query(Statement(filled.joined(separator: " union all "))).column(0, as: String.self)
        try await transaction { transaction in
            try await transaction.execute("set local session_replication_role = replica")
            for name in names { try await transaction.execute(Statement("delete from \(name)")) }
        }
    }
}
