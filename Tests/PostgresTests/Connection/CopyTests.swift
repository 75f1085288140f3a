import ErrandTestKit
import Testing

@testable import Postgres

@Suite("COPY as a statement") struct CopyTests {
    @Test("is refused in a pipeline and in a script too, and the connection is given up", .timeLimit(.minutes(1)))
    func refused() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create table numbers (n int8)")
            for copy in ["copy numbers from stdin", "copy (select 1) to stdout"] {
                let statements: [Statement] = ["insert into numbers values (1)", Statement(copy), "select 2"]
                let inPipeline = await #expect(throws: PostgresError.self) { try await database.pipeline(statements) }
                // COPY to the client ends by itself, and the pipeline's transaction with it.
                #expect(inPipeline?.code == .malformed && inPipeline?.isOutcomeUnknown == true)
                let connection = try await database.makeConnection()
                let inScript = await #expect(throws: PostgresError.self) {
                    try await connection.script("select 1; \(copy); select 2")
                }
                #expect(inScript?.code == .malformed)
                #expect(await !connection.isOpen)
            }
        }
    }

    @Test("a notification that came with COPY's reply arrives")
    func notification() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create table numbers (n int8)")
            try await database.execute(
                """
                create function tell() returns trigger language plpgsql as
                $$ begin perform pg_notify('news', new.n::text); return new; end $$
                """)
            try await database.execute(
                "create trigger tell after insert on numbers for each row execute function tell()")
            let connection = try await database.makeConnection()
            try await connection.listen("news")
            try await connection.copyIn("numbers", columns: ["n"], rows: [[5]])
            var arrived = connection.notifications.makeAsyncIterator()
            #expect(await arrived.next()?.payload == "5")
            await connection.close()
        }
    }
}
