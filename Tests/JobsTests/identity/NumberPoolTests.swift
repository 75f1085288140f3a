import AppTestKit
import Errand
import ErrandTestKit
import Postgres
import Testing

@testable import Jobs

@Suite("Number pool") struct NumberPoolTests {
    @Test("I1: the job keeps the pool as full as the setting says, batch by batch")
    func fills() async throws {
        try await withAppQueue { test in
            let database = test.database
            try await database.execute("select identity.set_pool_target(12000, 'a test')")
            #expect(try await test.drawn() == 12_000)
            #expect(try await database.lines(Self.state) == ["12000|12000|true|true"])
            #expect(try await test.drawn() == 0)
            try await database.execute("select identity.assign('user-' || n) from generate_series(1, 700) as n")
            #expect(try await test.drawn() == 700)
            #expect(try await database.lines(Self.state) == ["12000|12000|true|true"])
            // A smaller pool is not emptied.
            try await database.execute("select identity.set_pool_target(1, 'a test')")
            #expect(try await test.drawn() == 0)
            #expect(try await database.number("select free from identity.pool_status") == 12_000)
        }
    }

    @Test("I1: the default is 100,000 free numbers")
    func isFilledByDefault() async throws {
        try await withAppQueue { test in
            let drawn = try await test.drawn()
            #expect(drawn == 100_000)
            #expect(try await test.database.number("select free from identity.pool_status") == 100_000)
        }
    }

    @Test("I1: concurrent runs fill the pool once, and users who take numbers meanwhile all get one")
    func together() async throws {
        try await withAppQueue { test in
            let database = test.database
            try await database.execute("select identity.set_pool_target(20000, 'a test')")
            for _ in 1...3 { try await database.execute("select errand.enqueue('number_pool')") }
            async let taken: Void = withThrowingTaskGroup(of: Void.self) { group in
                for session in 0..<4 {
                    group.addTask {
                        for user in 0..<250 {
                            try await database.execute(
                                Statement("select identity.assign($1)", ["user-\(session)-\(user)"]))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await test.drain().outcomes == [.succeeded, .succeeded, .succeeded])
            try await taken
            #expect(try await database.number("select count(distinct number) from identity.number") == 1_000)
            #expect(try await test.drawn() < 1_100)
            #expect(try await database.number("select free from identity.pool_status") == 20_000)
        }
    }

    @Test("I1: a number whose transaction was rolled back is not assigned, and its row is deleted after a minute")
    func prunes() async throws {
        try await withAppQueue { test in
            let database = test.database
            try await database.execute("select identity.set_pool_target(10, 'a test')")
            _ = try await test.drawn()
            for user in ["anna", "ben"] {
                try? await database.transaction { transaction in
                    try await transaction.execute(Statement("select identity.assign($1)", [user]))
                    throw RolledBack()
                }
            }
            #expect(try await database.number("select count(*) from identity.number") == 0)
            #expect(try await database.number("select free from identity.pool_status") == 8)
            let rows = "select count(*), min(position) from identity.free_number"
            // Up to here positions may be in use.
            try await database.execute("update identity.pool set passed_at = clock_timestamp() - interval '1 minute'")
            #expect(try await test.drawn() == 2)
            #expect(try await database.lines(rows) == ["12|1"])
            // Too early.
            #expect(try await test.drawn() == 0)
            #expect(try await database.lines(rows) == ["12|1"])
            try await database.execute("update identity.pool set passed_at = clock_timestamp() - interval '1 minute'")
            #expect(try await test.drawn() == 0)
            #expect(try await database.lines(rows) == ["10|3"])
        }
    }

    /// Free numbers, their rows, whether nearly all numbers differ, and whether the pool was ever full.
    private static let state = """
        select free, (select count(*) from identity.free_number),
            (select count(*) - count(distinct number) < 5 from identity.free_number), filled_at is not null
        from identity.pool_status
        """

    private struct RolledBack: Error {}
}

extension TestQueue {
    /// Runs the job. Returns how many numbers it has drawn.
    fileprivate func drawn() async throws -> Int {
        let job = try await run("number_pool")
        return try #require(job.output).decode([String: Int].self)["drawn"] ?? -1
    }
}
