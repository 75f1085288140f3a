import ErrandTestKit
import Logging
import Testing

@testable import Postgres

@Suite("Prepared statements") struct PrepareTests {
    private let sum = Statement("select $1 + $2", [2, 3]).prepared

    @Test("are parsed once per connection, alone and in a pipeline, and the connection prepares nothing else")
    func once() async throws {
        try await withTestDatabase { _, configuration in
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            #expect(try await connection.query(sum).scalar(Int.self) == 5)
            #expect(try await connection.query(Statement("select $1 + $2", [4, 5]).prepared).scalar(Int.self) == 9)
            let replies = try await connection.pipeline([sum, Statement("select 7")])
            #expect(try replies[0].scalar(Int.self) == 5)
            #expect(try replies[1].scalar(Int.self) == 7)
            let prepared = try await connection.query("select array_agg(statement) from pg_prepared_statements")
            #expect(try prepared.scalar([String].self) == ["select $1 + $2"])
            await connection.close()
        }
    }

    @Test("that can't be parsed report the reason, and the connection stays usable")
    func wrong() async throws {
        try await withTestDatabase { _, configuration in
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            let error = await #expect(throws: PostgresError.self) {
                let rows = try await connection.query(Statement("select $1 + from", [2]).prepared)
                _ = rows
            }
            #expect(error?.sqlState == "42601")
            #expect(try await connection.query(sum).scalar(Int.self) == 5)
            await connection.close()
        }
    }

    @Test("statements whose name is lost run as text from then on")
    func lost() async throws {
        try await withTestDatabase { _, configuration in
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            _ = try await connection.query(sum)
            try await connection.execute("deallocate all")
            let error = await #expect(throws: PostgresError.self) {
                let rows = try await connection.query(sum)
                _ = rows
            }
            #expect(error?.sqlState == "26000")
            #expect(try await connection.query(sum).scalar(Int.self) == 5)
            #expect(try await connection.query("select count(*) from pg_prepared_statements").scalar(Int.self) == 0)
            await connection.close()
        }
    }
}
