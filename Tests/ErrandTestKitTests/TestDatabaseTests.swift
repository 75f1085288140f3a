import Errand
import ErrandTestKit
import Foundation
import Testing

@Suite("A database a test") struct TestDatabaseTests {
    @Test("each has the schema and the test's own scripts, nothing of its neighbours, and is gone afterwards")
    func fresh() async throws {
        let now = Int(Date.now.timeIntervalSince1970)
        // Databases of killed tests.
        let old = "errand_test_\(now - 3700)_00000000"
        let young = "errand_test_\(now - 3000)_00000001"
        try await withTestDatabase { database, _ in
            try await database.execute(Statement("create database \(old)"))
            try await database.execute(Statement("create database \(young)"))
        }
        let schema = [
            "create table public.mark (n int)", "insert into public.mark select random() * 1000000000",
        ]
        // The first of them searches for its template, like a new process.
        let found = try await withThrowingTaskGroup(of: (name: String, mark: Int).self) { group in
            for _ in 1...4 {
                group.addTask {
                    try await withTestDatabase(connections: 1, schema: schema) { database, configuration in
                        let mark = try await database.query("select n from public.mark").scalar(Int.self)
                        try await database.execute("delete from public.mark")
                        try await database.execute("select errand.enqueue('noop')")
                        #expect(try await database.query("select count(*) from errand.job").scalar(Int.self) == 1)
                        return (configuration.database, mark)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(found.map(\.name)).count == 4)
        #expect(Set(found.map(\.mark)).count == 1, "all are copies of one template")
        try await withTestDatabase { database, _ in
            let isSeparate = try await database.query("select to_regclass('public.mark') is null").scalar(Bool.self)
            #expect(isSeparate, "another schema has another template")
            let names = found.map(\.name) + [old, young]
            let left = Statement("select datname::text from pg_database where datname = any ($1)", [names])
            #expect(
                try await database.query(left).column(0, as: String.self) == [young],
                "that of a killed test is dropped by a run an hour later, and not before")
            try await database.execute(Statement("drop database \(young)"))
        }
    }

    @Test("a script that fails tells why, and leaves the next one free")
    func fails() async throws {
        for _ in 1...2 {
            let error = await #expect(throws: PostgresError.self) {
                try await withTestDatabase(schema: ["create table public.broken (n nonsense)"]) { _, _ in }
            }
            #expect(error?.sqlState == "42704")
        }
    }
}
