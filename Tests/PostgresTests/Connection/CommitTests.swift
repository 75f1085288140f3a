import ErrandTestKit
import Foundation
import Logging
import Testing

@testable import Postgres

@Suite("A commit that the server refuses") struct CommitTests {
    /// Inserts succeed, and their commit fails: the server sends its error after the statement's own reply.
    static let schema = """
        create table public.numbers (n int8);
        create function public.refuse() returns trigger language plpgsql as $$
        begin
            raise exception 'refused at commit' using errcode = 'check_violation';
        end
        $$;
        create constraint trigger refuse after insert on public.numbers deferrable initially deferred
        for each row execute function public.refuse();
        """

    @Test("is an error of every call that commits, and leaves the connection usable")
    func everyCall() async throws {
        let insert: Statement = "insert into public.numbers values (1) returning n"
        let calls: [(String, @Sendable (Database) async throws -> Void)] = [
            ("query", { _ = try await $0.query(insert) }),
            ("execute", { try await $0.execute(insert) }),
            ("prepared", { _ = try await $0.query(insert.prepared) }),
            ("pipeline", { _ = try await $0.pipeline([insert, insert.prepared]) }),
            ("transaction", { try await $0.transaction { _ = try await $0.query(insert) } }),
            ("script", { try await $0.withConnection { try await $0.script(insert.sql) } }),
            (
                "copy",
                { database in
                    try await database.withConnection { connection in
                        _ = try await connection.copyIn("public.numbers", columns: ["n"], rows: [[Int64(1)]])
                    }
                }
            ),
        ]
        try await withTestDatabase(connections: 1, schema: [Self.schema]) { database, _ in
            for (name, call) in calls {
                // The second time a statement is prepared already.
                for _ in 1...2 {
                    let error = await #expect(throws: PostgresError.self, "\(name)") { try await call(database) }
                    #expect(error?.sqlState == "23514" && error?.isOutcomeUnknown == false, "\(name)")
                    #expect(error?.statement == nil, "\(name): no statement of it failed")
                    let count = try await database.query("select count(*) from public.numbers").scalar(Int.self)
                    #expect(count == 0, "\(name)")
                }
            }
        }
    }
}
