import Errand
import ErrandTestKit
import Foundation
import Testing

@Suite("A database a test") struct TestDatabaseTests {
    @Test("each has the schema and the test's own scripts, nothing of its neighbours, and is gone afterwards")
    func fresh() async throws {
        let schema = ["create table public.pair (n int)", "insert into public.pair values (1), (2)"]
        var names: [String] = []
        for _ in 1...2 {
            names += try await withTestDatabase(schema: schema) { database, configuration in
                #expect(try await database.query("select count(*) from public.pair").scalar(Int.self) == 2)
                try await database.execute("delete from public.pair")
                try await database.execute("select errand.enqueue('noop')")
                #expect(try await database.query("select count(*) from errand.job").scalar(Int.self) == 1)
                return [configuration.database]
            }
        }
        #expect(names[0] != names[1])
        try await withTestDatabase { database, _ in
            let isApart = try await database.query("select to_regclass('public.pair') is null").scalar(Bool.self)
            #expect(isApart, "another schema has another template")
            let left = Statement("select count(*) from pg_database where datname = any ($1)", [names])
            #expect(try await database.query(left).scalar(Int.self) == 0)
        }
    }

    @Test(
        "many tests that need a template at once make one, and a script that fails tells why and leaves the next free")
    func together() async throws {
        let schema = ["create table public.mark (n int); insert into public.mark select random() * 1000000000"]
        let marks = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 1...6 {
                group.addTask {
                    try await withTestDatabase(connections: 1, schema: schema) { database, _ in
                        try await database.query("select n from public.mark").scalar(Int.self)
                    }
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(marks.count == 1, "all are copies of one template")
        for _ in 1...2 {
            let error = await #expect(throws: PostgresError.self) {
                try await withTestDatabase(schema: ["create table public.broken (n nonsense)"]) { _, _ in }
            }
            #expect(error?.sqlState == "42704")
        }
    }

    @Test("a killed test's database is dropped by a run an hour later, and not before")
    func sweeps() async throws {
        let now = Int(Date.now.timeIntervalSince1970)
        let old = "errand_test_\(now - 3700)_00000000"
        let young = "errand_test_\(now - 3000)_00000001"
        try await withTestDatabase { database, _ in
            try await database.execute(Statement("create database \(old)"))
            try await database.execute(Statement("create database \(young)"))
        }
        // Another schema makes this process search for its template, like a new process.
        try await withTestDatabase(schema: ["select 'sweeps'"]) { database, _ in
            let left = Statement("select datname::text from pg_database where datname = any ($1)", [[old, young]])
            #expect(try await database.query(left).column(0, as: String.self) == [young])
            try await database.execute(Statement("drop database \(young)"))
        }
    }
}
