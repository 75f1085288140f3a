import ErrandTestKit
import Logging
import Testing

@testable import Postgres

@Suite("Statements that are kept") struct KeepTests {
    private let sum = Statement("select $1 + $2", [2, 3]).kept

    @Test("is parsed once on a connection, alone and in a pipeline, and the connection keeps nothing else")
    func once() async throws {
        try await withTestDatabase { _, configuration in
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            #expect(try await connection.query(sum).scalar(Int.self) == 5)
            #expect(try await connection.query(Statement("select $1 + $2", [4, 5]).kept).scalar(Int.self) == 9)
            let answers = try await connection.pipeline([sum, Statement("select 7")])
            #expect(try answers[0].scalar(Int.self) == 5)
            #expect(try answers[1].scalar(Int.self) == 7)
            let kept = try await connection.query("select array_agg(statement) from pg_prepared_statements")
            #expect(try kept.scalar([String].self) == ["select $1 + $2"])
            await connection.close()
        }
    }

    @Test("that can't be parsed says why, and the connection stays usable")
    func wrong() async throws {
        try await withTestDatabase { _, configuration in
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            let error = await #expect(throws: PostgresError.self) {
                let rows = try await connection.query(Statement("select $1 + from", [2]).kept)
                _ = rows
            }
            #expect(error?.sqlState == "42601")
            #expect(try await connection.query(sum).scalar(Int.self) == 5)
            await connection.close()
        }
    }

    @Test("whose name got lost on the way runs as text from then on")
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
