import ErrandTestKit
import Foundation
import Testing

@testable import Postgres

@Suite("Lost connections") struct LossTests {
    @Test("an idle connection that the server has just ended is never lent")
    func idle() async throws {
        try await withTestDatabase(connections: 1) { database, _ in
            let other = try await database.makeConnection()
            let session = Statement("select pg_backend_pid()")
            for _ in 0..<30 {
                let process = try await database.query(session).scalar(Int32.self)
                // Waits until the session is gone for others. Its socket is closed later.
                try await other.execute(Statement("select pg_terminate_backend($1, 5000)", [process]))
                #expect(try await database.query(session).scalar(Int32.self) != process)
            }
            await other.close()
        }
    }

    @Test("a statement of an open transaction has come to nothing; only a lone statement may have run")
    func lone() async throws {
        try await withTestDatabase(connections: 2) { database, _ in
            try await database.execute("create table numbers (n int8)")
            let inTransaction = await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("insert into numbers values (1)")
                    try await transaction.execute("select pg_terminate_backend(pg_backend_pid())")
                }
            }
            #expect(inTransaction?.code == .connectionLost && inTransaction?.isOutcomeUnknown == false)
            let alone = await #expect(throws: PostgresError.self) {
                try await database.pipeline([
                    "insert into numbers values (2)", "select pg_terminate_backend(pg_backend_pid())",
                ])
            }
            #expect(alone?.code == .connectionLost && alone?.isOutcomeUnknown == true)
            #expect(try await database.query("select count(*) from numbers").scalar(Int.self) == 0)
        }
    }

    @Test("a session that the server ended for idling in a transaction is a lost connection")
    func idleInTransaction() async throws {
        try await withTestDatabase(connections: 1) { database, _ in
            let error = await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("set local idle_in_transaction_session_timeout = '50ms'")
                    try await Task.sleep(for: .milliseconds(150))
                    try await transaction.execute("select 1")
                }
            }
            #expect(error?.code == .connectionLost)
            let after = try await database.query("select 1").scalar(Int.self)
            #expect(after == 1)
        }
    }

    @Test("too many parameters are the caller's error, and the connection stays usable")
    func tooManyParameters() async throws {
        try await withTestDatabase(connections: 1) { database, _ in
            let statement = Statement("select 1", [Int](repeating: 1, count: 65_536))
            let error = await #expect(throws: PostgresError.self) { try await database.query(statement) }
            #expect(error?.code == .malformed && error?.isTransient == false)
            await #expect(throws: PostgresError.self) { try await database.pipeline(["select 1", statement]) }
            let after = try await database.query("select 1").scalar(Int.self)
            #expect(after == 1)
        }
    }

    @Test("the URL's own time-out wins, and one that is too short to count is not none at all")
    func statementTimeout() throws {
        var given = try PostgresConfiguration(url: "postgresql://h/db?options=-c%20statement_timeout%3D9s")
        given.statementTimeout = .microseconds(10)
        let keywords = Dictionary(uniqueKeysWithValues: given.keywords(withOptions: true))
        let options = try #require(keywords["options"])
        #expect(options.hasPrefix("-c statement_timeout=1 "))
        let own = try #require(options.firstRange(of: "-c statement_timeout=9s "))
        #expect(try #require(options.firstRange(of: "-c tcp_keepalives_idle=")).lowerBound < own.lowerBound)
    }
}
