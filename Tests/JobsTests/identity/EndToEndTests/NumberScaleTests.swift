import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

/// Virtual numbers for very many users. `make faults` tries the promised numbers; otherwise a four-hundredth of them.
@Suite("Virtual numbers for many users", .serialized) struct NumberScaleTests {
    private let share = Hardness.isFull ? 1 : 400
    private let sessions = 16

    @Test(
        "I1: 1,000,000 users get as many numbers from 16 sessions while the pool is filled; a call takes 1 ms or less")
    func scale() async throws {
        try await withAppDatabase(connections: 20) { database, _ in
            let users = 1_000_000 / share
            let filling = Task {
                // As the job does, more often.
                while !Task.isCancelled {
                    try await database.execute("select identity.fill_pool_v1(5000)")
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in 0..<sessions {
                    group.addTask {
                        for first in stride(from: session * 50, to: users, by: sessions * 50) {
                            try await database.execute(
                                Statement(
                                    """
                                    select count(identity.assign('user-' || n))
                                    from generate_series($1 + 1, least($1 + 50, $2)) as n
                                    """, [first, users]))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let took = ContinuousClock.now - start
            filling.cancel()
            _ = await filling.result
            let counts = """
                select count(*) || ' ' || count(distinct number) || ' ' || count(distinct user_id) from identity.number
                """
            #expect(try await database.query(Statement(counts)).scalar(String.self) == "\(users) \(users) \(users)")
            print("\(users) numbers from \(sessions) sessions after \(took)")
            for isEmpty in [false, true] {
                try await database.execute(
                    isEmpty ? "truncate identity.free_number" : "select identity.fill_pool_v1(5000)")
                let median = try await Self.median(
                    of: Hardness.isFull ? 1_000 : 50, pool: isEmpty ? "empty" : "filled", in: database)
                print(
                    "beside \(users) users, with \(isEmpty ? "an empty" : "a filled") pool: half took \(median) or less"
                )
                if Hardness.isFull { #expect(median <= .milliseconds(1)) }
            }
        }
    }

    /// The median duration of single calls of one session, each committed.
    private static func median(of calls: Int, pool: String, in database: Database) async throws -> Duration {
        var durations: [Duration] = []
        for call in 0..<calls {
            let start = ContinuousClock.now
            try await database.execute(Statement("select identity.assign($1)", ["\(pool)-\(call)"]))
            durations.append(ContinuousClock.now - start)
        }
        return durations.sorted()[calls / 2]
    }
}
