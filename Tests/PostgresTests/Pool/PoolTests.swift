import ErrandTestKit
import Logging
import Testing

@testable import Postgres

@Suite("Pool") struct PoolTests {
    @Test("never more connections than allowed, and whoever asks first is served first")
    func order() {
        var pool = PoolState<String>(limit: 1)
        guard case .open = pool.request(waiter: 1) else { return #expect(Bool(false), "expected to open") }
        guard case .wait = pool.request(waiter: 2), case .wait = pool.request(waiter: 3) else {
            return #expect(Bool(false), "expected to wait")
        }
        guard case .give("a", to: 2) = pool.released("a", isBroken: false) else {
            return #expect(Bool(false), "expected waiter 2 to be served")
        }
        guard case .reopen(by: 3) = pool.released("a", isBroken: true) else {
            return #expect(Bool(false), "expected waiter 3 to open a new one")
        }
        guard case .keep = pool.released("b", isBroken: false), case .use("b") = pool.request(waiter: 4) else {
            return #expect(Bool(false), "expected the idle one")
        }
    }

    @Test("who gave up is passed over; a closed pool serves nobody and closes what comes back")
    func givingUp() {
        var pool = PoolState<String>(limit: 1)
        _ = pool.request(waiter: 1)
        _ = pool.request(waiter: 2)
        let answers = [pool.gaveUp(2), pool.gaveUp(2)]
        #expect(answers == [true, false])
        guard case .keep = pool.released("a", isBroken: false) else { return #expect(Bool(false), "expected to keep") }
        let closed = pool.close()
        #expect(closed.connections == ["a"])
        guard case .closed = pool.request(waiter: 3) else { return #expect(Bool(false), "expected closed") }
    }

    @Test("50 tasks share 3 connections, and the server never sees more")
    func shared() async throws {
        try await withTestDatabase(connections: 3) { database, _ in
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await database.query(
                            """
                            select count(*) from pg_stat_activity
                            where datname = current_database() and backend_type = 'client backend'
                            """
                        ).scalar(Int.self)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts.allSatisfy { $0 <= 3 })
        }
    }

    @Test("who waits longer than the limit is told so, and who is cancelled leaves the line", arguments: [1, 50])
    func waitLimit(milliseconds: Int) async throws {
        try await withTestDatabase { _, configuration in
            let pool = Database(
                configuration: configuration, maximumConnections: 1, waitLimit: .milliseconds(milliseconds),
                logger: Logger(label: "test"))
            try await pool.withConnection { _ in
                let late = await #expect(throws: PostgresError.self) { try await pool.query("select 1") }
                #expect(late?.code == .poolExhausted)
                let cancelled = Task { try await pool.query("select 1") }
                cancelled.cancel()
                await #expect(throws: PostgresError.self) { try await cancelled.value }
            }
            #expect(try await pool.query("select 1").scalar(Int.self) == 1)
            await pool.close()
            await #expect(throws: PostgresError.self) { try await pool.query("select 1") }
        }
    }

    @Test("pauses grow, are drawn by lot, and begin small again after a success")
    func backoff() {
        var backoff = Backoff(first: .milliseconds(100), cap: .seconds(1))
        var random = SystemRandomNumberGenerator()
        let pauses = (0..<10).map { _ in backoff.next(using: &random) }
        #expect(pauses[0] >= .milliseconds(50) && pauses[0] <= .milliseconds(100))
        #expect(pauses[9] >= .milliseconds(500) && pauses[9] <= .seconds(1))
        backoff.reset()
        #expect(backoff.next(using: &random) <= .milliseconds(100))
    }
}
