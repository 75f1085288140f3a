import ErrandTestKit
import Testing

@testable import Postgres

@Suite("Cancellation") struct CancellationTests {
    @Test("ends a statement within a second, and differs from a timeout")
    func ends() async throws {
        try await withTestDatabase(connections: 1) { database, _ in
            let task = Task { try await database.query("select pg_sleep(30)") }
            try await Task.sleep(for: .milliseconds(100))
            let took = await ContinuousClock().measure {
                task.cancel()
                let error = await #expect(throws: PostgresError.self) { try await task.value }
                #expect(error?.code == .cancelled && error?.isTransient == false)
            }
            #expect(took < .seconds(10), "1 s is promised of a machine that does nothing else")
        }
    }

    @Test("never hits the next statement, however late it comes")
    func neverTheNext() async throws {
        try await withTestDatabase(connections: 1) { database, _ in
            try await database.withConnection { connection in
                for round in 0..<150 {
                    let task = Task { try await connection.query("select pg_sleep(0.001)") }
                    try await Task.sleep(for: .microseconds(round * 20))
                    task.cancel()
                    #expect(try await connection.query("select 1 from pg_sleep(0.002)").scalar(Int.self) == 1)
                    _ = await task.result
                }
            }
        }
    }

    @Test("of a call that waits for a busy connection sends nothing")
    func notSent() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create table numbers (n int8)")
            try await database.withConnection { connection in
                async let busy = connection.query("select pg_sleep(0.1)")
                let late = Task { try await connection.execute("insert into numbers values (1)") }
                late.cancel()
                let error = await #expect(throws: PostgresError.self) { try await late.value }
                #expect(error?.code == .cancelled)
                _ = try await busy
                #expect(try await connection.query("select count(*) from numbers").scalar(Int.self) == 0)
            }
        }
    }
}
