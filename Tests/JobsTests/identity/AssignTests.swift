import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Virtual numbers") struct AssignTests {
    /// Rows, distinct numbers and distinct users.
    private static let counts = """
        select count(*), count(distinct number), count(distinct user_id) from identity.number
        """

    @Test("I1: 20,000 users get 20,000 numbers from 8 sessions, and each free number is taken once")
    func fromPool() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("select identity.fill_pool_v1(25000)")
            // No two are the same by chance.
            try await database.execute("update identity.free_number set number = (1000000000 + position)::text")
            try await database.assign(20_000, sessions: 8)
            #expect(try await database.lines(Self.counts) == ["20000|20000|20000"])
            #expect(
                try await database.lines("select max(number), min(number) from identity.number")
                    == ["1000020000|1000000001"])
            #expect(try await database.lines("select free from identity.pool_status") == ["5000"])
            #expect(try await database.number("select count(*) from identity.free_number") == 5_000)
        }
    }

    @Test("I1: 20,000 users get 20,000 numbers from 8 sessions with an empty pool")
    func withoutPool() async throws {
        try await withAppDatabase { database, _ in
            try await database.assign(20_000, sessions: 8)
            #expect(try await database.lines(Self.counts) == ["20000|20000|20000"])
        }
    }

    @Test("I1: no number is assigned twice, however many sessions draw from however few")
    func fromFew() async throws {
        try await withAppDatabase { database, _ in
            try await database.limitNumbers(to: 3_000)
            // Many of these are the same.
            try await database.execute("select identity.fill_pool_v1(500)")
            // One in a transaction: otherwise two could wait for each other's numbers.
            try await database.assign(2_000, sessions: 8, each: 1)
            #expect(try await database.lines(Self.counts) == ["2000|2000|2000"])
        }
    }

    @Test(
        "I1: a user has one number, however many calls run at once, and every call returns it", arguments: [0, 1_000])
    func once(pool: Int) async throws {
        try await withAppDatabase(connections: 16) { database, _ in
            try await database.execute(Statement("select identity.fill_pool_v1($1::int4)", [pool]))
            for user in 1...20 {
                let numbers = try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 1...16 { group.addTask { try await database.assign("user-\(user)") } }
                    return try await group.reduce(into: Set()) { $0.insert($1) }
                }
                #expect(numbers.count == 1)
                let known = "select identity.number_of('user-\(user)'), identity.user_of('\(numbers.first ?? "")')"
                #expect(try await database.lines(known) == ["\(numbers.first ?? "")|user-\(user)"])
            }
            #expect(try await database.number("select count(*) from identity.number") == 20)
        }
    }

    @Test(
        "I1: a transaction with an older snapshot gets the user's number too, or fails with 40001",
        arguments: ["read committed", "repeatable read", "serializable"])
    func olderSnapshot(level: String) async throws {
        try await withAppDatabase { database, _ in
            var outcome: String?
            do {
                outcome = try await database.transaction { transaction in
                    try await transaction.execute(Statement("set transaction isolation level \(level)"))
                    // This takes its snapshot.
                    try await transaction.execute("select count(*) from errand.queue")
                    try await database.assign("anna")
                    return try await transaction.query("select identity.assign('anna')").scalar(String.self)
                }
            } catch let error as PostgresError {
                outcome = error.sqlState
            }
            let number = try await database.lines("select identity.number_of('anna')")[0]
            let allowed = level == "read committed" ? [number] : [number, "40001"]
            #expect(allowed.contains(outcome ?? ""), "\(outcome ?? "null")")
            #expect(try await database.number("select count(*) from identity.number") == 1)
        }
    }

    @Test("I1: a number has ten digits, the first of which is not 0, and each is as likely as the others")
    func fair() async throws {
        try await withAppDatabase { database, _ in
            // Chi-square of 10 digits over 45,000 numbers: 9 degrees of freedom exceed 50 once in 10 million times.
            let drawn = try await database.query(
                """
                with drawn as materialized (select identity.new_number() as number from generate_series(1, 45000))
                select bool_and(number ~ '^[1-9][0-9]{9}$'), count(distinct number) > 44990, (
                    select max(chi)::float8 from (
                        select sum((count - expected) ^ 2 / expected) as chi
                        from (
                            select place, count(*) as count, case place when 1 then 5000.0 else 4500.0 end as expected
                            from drawn cross join generate_series(1, 10) as place
                            group by place, substr(number, place, 1)
                        ) as counted
                        group by place
                    ) as places
                )
                from drawn
                """)
            let (areWellFormed, areDistinct, worst) = try drawn[0].decode(Bool.self, Bool.self, Double.self)
            #expect(areWellFormed && areDistinct)
            #expect(worst < 50)
        }
    }

    @Test(
        "I1: a call takes at most 1 ms, half of the time, with a filled pool and with an empty one",
        arguments: [0, 2_000])
    func quick(pool: Int) async throws {
        try await withAppDatabase { database, _ in
            try await database.assign(5_000, sessions: 4)
            try await database.execute(Statement("select identity.fill_pool_v1($1::int4)", [pool]))
            let median = try await database.query(
                """
                select percentile_cont(0.5) within group (order by extract(epoch from ended - began)::float8)
                from (
                    select clock_timestamp() as began, identity.assign('timed-' || n), clock_timestamp() as ended
                    from generate_series(1, 1000) as n
                    offset 0
                ) as timed
                """
            ).scalar(Double.self)
            #expect(median <= 0.001)
        }
    }

    @Test("I1: a number stays taken after its user was erased, and nothing else of the user stays")
    func erased() async throws {
        try await withAppDatabase { database, _ in
            try await database.limitNumbers(to: 2)
            let number = try await database.assign("anna")
            let export = "select identity.export_person('anna') - 'assigned_at'"
            #expect(try await database.lines(export) == [#"{"number": "\#(number)"}"#])
            for erased in ["1", "0"] {
                #expect(try await database.lines("select identity.erase_person('anna')") == [erased])
            }
            #expect(
                try await database.lines(
                    "select identity.export_person('anna'), identity.number_of('anna'), identity.user_of('\(number)')")
                    == ["{}||"])
            #expect(try await database.assign("ben") != number)
            let error = await #expect(throws: PostgresError.self) { try await database.assign("anna") }
            #expect(error?.sqlState == "ER503")
            #expect(try await database.lines("select assigned, erased from identity.pool_status") == ["1|1"])
        }
    }

    @Test("a number is found however it is typed, and arguments out of bounds raise ER422")
    func bounds() async throws {
        try await withAppDatabase { database, _ in
            let longest = String(repeating: "ä", count: 200)
            let number = try await database.assign(longest)
            let typed = " " + number.prefix(3) + " " + number.dropFirst(3).prefix(3) + "-" + number.dropFirst(6)
            #expect(try await database.lines("select identity.user_of('\(typed)')") == [longest])
            for unknown in ["0", "", number + "0", "anna"] {
                #expect(try await database.lines("select identity.user_of('\(unknown)')") == [""])
            }
            for call in [
                "assign('')", "assign(null)", "assign(repeat('x', 201))", "set_pool_target(0, 'x')",
                "set_pool_target(1000001, 'x')", "set_pool_target(null, 'x')", "set_pool_target(5, '')",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select identity.\(call)"))
                }
                #expect(error?.sqlState == "ER422", "\(call)")
            }
        }
    }
}

extension Database {
    @discardableResult
    fileprivate func assign(_ user: String) async throws -> String {
        try await query(Statement("select identity.assign($1)", [user])).scalar(String.self)
    }

    /// Assigns numbers to as many users, `each` of them in a transaction.
    fileprivate func assign(_ users: Int, sessions: Int, each: Int = 50) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for session in 0..<sessions {
                group.addTask {
                    for start in stride(from: session * each, to: users, by: sessions * each) {
                        try await self.execute(
                            Statement(
                                """
                                select count(identity.assign('user-' || n))
                                from generate_series($1 + 1, $1 + $2) as n
                                """, [start, each]))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// From now on only so many numbers exist.
    fileprivate func limitNumbers(to count: Int) async throws {
        try await execute(
            Statement(
                """
                create or replace function identity.new_number() returns text
                language sql volatile set search_path = pg_catalog, identity, pg_temp as $$
                    select (1000000000 + floor(random() * \(count)))::bigint::text
                $$
                """))
    }
}
