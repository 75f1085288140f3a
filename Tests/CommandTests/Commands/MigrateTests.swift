import ErrandTestKit
import Postgres
import Testing

@testable import Command

@Suite("errand migrate") struct MigrateTests {
    @Test("brings an empty database up to date, and finds nothing to do the second time")
    func twice() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            for schema in ["errand", "media", "pairing", "quotes", "events", "activity"] {
                try await database.execute(Statement("drop schema \(schema) cascade"))
            }
            let plan = try await Program.run(["migrate", "--dry-run"], settings: settings)
            #expect(plan.output.hasPrefix("would apply migration 0001_queue\n"))
            #expect(plan.output.contains("would apply views/queue_status\n"))
            let first = try await Program.run(["migrate"], settings: settings)
            #expect(first.code == 0)
            #expect(first.output.hasPrefix("applied migration 0001_queue\n"))
            #expect(first.output.contains("functions and views\n"))
            for arguments in [["migrate"], ["migrate", "--dry-run"]] {
                let again = try await Program.run(arguments, settings: settings)
                #expect(again.code == 0)
                #expect(again.output == "up to date\n")
                #expect(again.errors == "")
            }
        }
    }

    @Test("a database with a schema media of its own is refused before anything changes")
    func taken() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            for schema in ["errand", "media", "pairing", "quotes", "events", "activity"] {
                try await database.execute(Statement("drop schema \(schema) cascade"))
            }
            try await database.execute("create schema media")
            try await database.execute("create table media.film (id int)")
            for arguments in [["migrate"], ["migrate", "--dry-run"]] {
                let program = try await Program.run(arguments, settings: settings)
                #expect(program.code == 78)
                #expect(
                    program.error
                        == "errand: the database has already, and not from Errand: schema media (with film); nothing was "
                        + "changed (give Errand a database of its own, or rename that schema: alter schema … rename to …)"
                )
                #expect(program.output == "")
            }
            #expect(try await database.query("select to_regnamespace('errand') is null").scalar(Bool.self))
        }
    }

    @Test("--status names what the database has and what is missing")
    func status() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("delete from errand.script where name = 'views/queue_status'")
            let program = try await Program.run(["migrate", "--status"], settings: reaching(configuration))
            #expect(program.code == 0)
            #expect(program.output.hasPrefix("applied migration 0001_queue at 20"))
            #expect(program.output.hasSuffix("\nmissing views/queue_status\n"))
        }
    }

    @Test("--print needs no database, and one question at a time is answered")
    func print() async throws {
        let program = try await Program.run(["migrate", "--print"])
        #expect(program.code == 0)
        #expect(program.output.hasPrefix("-- 0001_queue\n"))
        #expect(program.output.contains("create or replace view errand.queue_status as"))
        #expect(try await Program.run(["migrate", "--print", "--status"]).code == 64)
    }
}
