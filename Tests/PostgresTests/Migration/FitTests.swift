import ErrandTestKit
import Logging
import Testing

@testable import Postgres

@Suite("Programs of two versions on one database") struct FitTests {
    private let claim1 = function("claim_v1", "select 1")
    private let claim2 = function("claim_v2", "select 2")

    @Test("the previous version runs on the next one's schema, even if functions without a version changed")
    func nextVersion() async throws {
        try await withEmptyDatabase { connection in
            let old = program("0.1.0", functions: [claim1, Self.function("enqueue", "select 1")])
            let new = program(
                "0.2.0", more: [("0002_b", "create table public.b (n int)")],
                functions: [claim1, claim2, Self.function("enqueue", "select 2")])
            try await old.run(on: connection)
            #expect(try await new.fit(on: connection).lacks.count == 3)
            try await new.run(on: connection)
            for (program, newer) in [(old, "0.2.0"), (new, nil)] {
                let fit = try await program.fit(on: connection)
                #expect(fit.lacks == [])
                #expect(fit.newer == newer)
            }
        }
    }

    @Test("an older program migrates nothing, even if the newer one added only functions")
    func olderMigrates() async throws {
        try await withEmptyDatabase { connection in
            let old = program("0.1.9", functions: [Self.function("enqueue", "select 1")])
            try await old.run(on: connection)
            try await program("0.1.10", functions: [Self.function("enqueue", "select 2")]).run(on: connection)
            for act in [{ try await old.plan(on: $0) }, { try await old.run(on: $0) }]
                as [@Sendable (Connection) async throws -> [Migrator.Step]]
            {
                let error = await #expect(throws: PostgresError.self) { try await act(connection) }
                #expect(error?.code == .schema)
                #expect(error?.detail == "the database was migrated by errand 0.1.10, and this is 0.1.9")
            }
            #expect(try await connection.query("select enqueue()").scalar(Int32.self) == 2)
            #expect(try await connection.query("select count(*) from errand.upgrade").scalar(Int.self) == 2)
        }
    }

    @Test("a migration that breaks older programs has them refused, from its start on")
    func breaks() async throws {
        try await withEmptyDatabase { connection in
            let oldest = program("0.1.0", functions: [claim1])
            try await oldest.run(on: connection)
            let breaking = "-- 0002_drop: what 0.1 called goes.\n-- errand: breaks programs before 0.2.0\n"
            // It fails in the middle, so only its start is recorded.
            let new = program("0.3.0", more: [("0002_drop", breaking + "select nonsense")], functions: [claim1])
            _ = await #expect(throws: PostgresError.self) { try await new.run(on: connection) }
            let error = await #expect(throws: PostgresError.self) { try await oldest.fit(on: connection) }
            #expect(
                error?.detail == "the database was migrated by errand 0.3.0, on which programs before 0.2.0 can't run; "
                    + "this is 0.1.0")
            #expect(error?.hint == "run errand 0.3.0")
            #expect(try await program("0.2.0", functions: [claim1]).fit(on: connection).lacks == [])
        }
    }

    @Test("on a newer database each function that workers call must be there, and each migration of their own")
    func missing() async throws {
        try await withEmptyDatabase { connection in
            try await program("0.2.0", functions: [claim2]).run(on: connection)
            let old = program(
                "0.1.0", more: [("0002_b", "create table public.b (n int)")], functions: [claim1, claim2])
            let fit = try await old.fit(on: connection)
            #expect(fit.lacks == [.migration("0002_b"), .script("functions/worker/claim_v1")])
            #expect(fit.newer == "0.2.0")
        }
    }

    @Test("within one version, changed scripts are missing; an unknown migration is of a newer program")
    func sameVersion() async throws {
        try await withEmptyDatabase { connection in
            let one = program("0.2.0", functions: [Self.function("enqueue", "select 1")])
            try await one.run(on: connection)
            let other = program("0.2.0", functions: [Self.function("enqueue", "select 2")])
            #expect(try await other.fit(on: connection).lacks == [.script("functions/worker/enqueue")])
            try await connection.execute("insert into errand.migration (name, sha256) values ('9999_future', '')")
            #expect(try await other.fit(on: connection).lacks == [])
            #expect(try await other.fit(on: connection).newer == "of a newer version")
        }
    }

    @Test("versions are compared number by number")
    func versions() {
        let sorted = ["", "0.0.9", "0.1", "0.1.9", "0.1.10-beta", "0.10.0", "1", "1.2.3", "10.0.0"].map {
            ProgramVersion($0)
        }
        #expect(sorted == sorted.sorted())
        #expect(Set(sorted).count == sorted.count)
        #expect(ProgramVersion("0.1") == ProgramVersion("0.1.0"))
        #expect(ProgramVersion("1.2.3").description == "1.2.3")
    }

    private static func function(_ name: String, _ body: String) -> Migrator.Script {
        (
            "functions/worker/\(name)",
            "create or replace function public.\(name)() returns int language sql as $$ \(body) $$"
        )
    }

    private func program(
        _ version: String, more: [Migrator.Script] = [], functions: [Migrator.Script]
    ) -> Migrator {
        Migrator(
            version: version, migrations: [("0001_a", "create table public.a (n int)")] + more, replaceable: functions)
    }

    private func withEmptyDatabase(_ body: (Connection) async throws -> Void) async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("drop schema errand cascade")
            let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
            try await body(connection)
            await connection.close()
        }
    }
}
