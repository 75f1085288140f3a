import ErrandTestKit
import Logging
import Testing

@testable import Postgres

@Suite("Pool") struct PoolTests {
    @Test("never more connections than allowed, and callers get connections in the order of their requests")
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

    @Test("a cancelled caller is skipped; a closed pool serves no caller and closes returned connections")
    func givingUp() {
        var pool = PoolState<String>(limit: 1)
        _ = pool.request(waiter: 1)
        _ = pool.request(waiter: 2)
        let replies = [pool.gaveUp(2), pool.gaveUp(2)]
        #expect(replies == [true, false])
        guard case .keep = pool.released("a", isBroken: false) else { return #expect(Bool(false), "expected to keep") }
        let closed = pool.close()
        #expect(closed.connections == ["a"])
        guard case .closed = pool.request(waiter: 3) else { return #expect(Bool(false), "expected closed") }
    }

    @Test("while the eager ones are in use another one is opened only for a caller that has waited for a moment")
    func eager() {
        var pool = PoolState<String>(limit: 2, eager: 1)
        guard case .open = pool.request(waiter: 1), case .waitBriefly = pool.request(waiter: 2),
            case .waitBriefly = pool.request(waiter: 3), case .waitBriefly = pool.request(waiter: 4)
        else { return #expect(Bool(false), "expected to open one") }
        guard case .give("a", to: 2) = pool.released("a", isBroken: false) else {
            return #expect(Bool(false), "expected waiter 2 to be served")
        }
        // 2 has its connection, 3 opens the second one, and 4 must wait.
        guard case .wait = pool.insist(2), case .open = pool.insist(3), case .wait = pool.insist(4),
            case .wait = pool.request(waiter: 5)
        else { return #expect(Bool(false), "expected to open a second one, and no third") }
    }

    @Test("an idle connection beyond the eager ones is used only after a moment, so that it may turn out unneeded")
    func idleBeyond() {
        var pool = PoolState<String>(limit: 2, eager: 1)
        guard case .open = pool.request(waiter: 1), case .waitBriefly = pool.request(waiter: 2),
            case .open = pool.insist(2), case .keep = pool.released("a", isBroken: false),
            case .keep = pool.released("b", isBroken: false)
        else { return #expect(Bool(false), "expected two to be opened") }
        _ = pool.trim()
        guard case .use("b") = pool.request(waiter: 3), case .waitBriefly = pool.request(waiter: 4),
            case .give("b", to: 4) = pool.released("b", isBroken: false),
            case .keep = pool.released("b", isBroken: false)
        else { return #expect(Bool(false), "expected both to use the same one") }
        let unneeded = pool.trim()
        #expect(unneeded == ["a"])
        guard case .use("b") = pool.request(waiter: 5), case .waitBriefly = pool.request(waiter: 6),
            case .open = pool.insist(6)
        else { return #expect(Bool(false), "expected to open a new one") }
    }

    @Test("if many callers wait, more connections are opened immediately, until the next trim")
    func busy() {
        var pool = PoolState<String>(limit: 3, eager: 1)
        _ = pool.request(waiter: 1)
        for waiter in 2..<UInt64(2 + PoolState<String>.briefWaits) {
            guard case .waitBriefly = pool.request(waiter: waiter), pool.gaveUp(waiter) else {
                return #expect(Bool(false), "expected to wait briefly")
            }
        }
        guard case .open = pool.request(waiter: 5000) else { return #expect(Bool(false), "expected to open one") }
        _ = pool.trim()
        guard case .waitBriefly = pool.request(waiter: 5001) else {
            return #expect(Bool(false), "expected to wait briefly")
        }
    }

    @Test("connections that are idle between two trims are closed, except one")
    func trim() {
        var pool = PoolState<String>(limit: 3)
        for waiter in 1...3 { _ = pool.request(waiter: UInt64(waiter)) }
        for connection in ["a", "b", "c"] { _ = pool.released(connection, isBroken: false) }
        let first = pool.trim()
        #expect(first.isEmpty)
        _ = pool.request(waiter: 4)
        _ = pool.released("c", isBroken: false)
        let second = pool.trim()
        #expect(second == ["a", "b"])
        let third = pool.trim()
        #expect(third.isEmpty)
        guard case .use("c") = pool.request(waiter: 5), case .open = pool.request(waiter: 6) else {
            return #expect(Bool(false), "expected the one that was left, then a new one")
        }
    }

    @Test("no caller waits for a closed pool", .timeLimit(.minutes(1)))
    func closedWhileWaiting() async throws {
        try await withTestDatabase { _, configuration in
            for round in 0..<30 {
                let pool = Database(
                    configuration: configuration, maximumConnections: 1, waitLimit: .seconds(2),
                    logger: Logger(label: "test"))
                try await pool.withConnection { _ in
                    let waiting = (0..<20).map { _ in Task { try await pool.query("select 1") } }
                    // Some wait already, some have just asked, and some ask later.
                    for _ in 0..<round { await Task.yield() }
                    await pool.close()
                    for task in waiting {
                        await #expect(throws: PostgresError.self) { try await task.value }
                    }
                }
            }
        }
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

    @Test(
        "a caller that waits longer than the limit gets an error, and a cancelled caller leaves the queue",
        arguments: [1, 50])
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

    @Test("a server that has become read-only loses its connections")
    func readOnly() async throws {
        try await withTestDatabase(connections: 2) { database, configuration in
            try await database.execute("create table numbers (n int8)")
            try await database.execute(
                Statement("alter database \(configuration.database) set default_transaction_read_only = on"))
            let other = Database(configuration: configuration, maximumConnections: 2, logger: Logger(label: "test"))
            let session = Statement("select pg_backend_pid()")
            let before = try await other.query(session).scalar(Int.self)
            try await database.execute(
                Statement("alter database \(configuration.database) reset default_transaction_read_only"))
            let error = await #expect(throws: PostgresError.self) {
                try await other.execute("insert into numbers values (1)")
            }
            #expect(error?.sqlState == "25006" && error?.isTransient == true)
            #expect(try await other.execute("insert into numbers values (1)") == 1)
            #expect(try await other.query(session).scalar(Int.self) != before)
            await other.close()
        }
    }

    @Test("a read-only server's idle connections leave the pool, and their slots are free")
    func dropIdle() {
        var pool = PoolState<String>(limit: 2)
        _ = (pool.request(waiter: 1), pool.request(waiter: 2))
        _ = (pool.released("a", isBroken: false), pool.released("b", isBroken: false))
        let dropped = pool.dropIdle()
        #expect(dropped == ["a", "b"])
        guard case .open = pool.request(waiter: 3), case .open = pool.request(waiter: 4) else {
            return #expect(Bool(false), "expected room for two")
        }
        guard case .wait = pool.request(waiter: 5) else { return #expect(Bool(false), "expected no room for a third") }
    }

    @Test("delays grow, are random, and begin small again after a success")
    func backoff() {
        var backoff = Backoff(first: .milliseconds(100), cap: .seconds(1))
        var random = SystemRandomNumberGenerator()
        let delays = (0..<10).map { _ in backoff.next(using: &random) }
        #expect(delays[0] >= .milliseconds(50) && delays[0] <= .milliseconds(100))
        #expect(delays[9] >= .milliseconds(500) && delays[9] <= .seconds(1))
        backoff.reset()
        #expect(backoff.next(using: &random) <= .milliseconds(100))
    }
}
