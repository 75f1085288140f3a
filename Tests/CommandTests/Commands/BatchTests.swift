import ErrandTestKit
import Postgres
import Testing

@testable import Command

@Suite("errand batch") struct BatchTests {
    @Test("batches are listed; all jobs of one are cancelled and retried")
    func batch() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["batch"] + arguments, settings: settings)
            }
            #expect(try await errand("list").output == "no such batch is on record\n")
            let id = try await database.query("select errand.batch_open('import')").scalar(Int64.self)
            _ = try await database.query(
                Statement("select errand.enqueue('noop', batch => $1) from generate_series(1, 3)", [id]))
            let list = try await errand("list")
            #expect(list.output.hasPrefix("ID "))
            #expect(list.output.contains("import") && list.output.contains("open"))
            #expect(
                try await errand("cancel", "\(id)", "--reason", "wrong file").output
                    == "batch \(id): cancelled 3 jobs\n")
            #expect(
                try await errand("retry", "\(id)", "--reason", "after all", "--json").output
                    == #"{"batch_id":\#(id),"done":"retried"}"# + "\n")
            #expect(try await errand("list", "\(id)", "--json").output.contains(#""state":"closed""#))
            let unknown = try await errand("cancel", "999", "--reason", "x")
            #expect(unknown.code == 1 && unknown.errors.contains("expected the id of a batch"))
        }
    }
}
