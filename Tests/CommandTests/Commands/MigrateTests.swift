import AppSchemas
import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand migrate") struct MigrateTests {
    @Test("brings an empty database up to date, and finds nothing to do the second time")
    func twice() async throws {
        try await withAppDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await database.dropSchemas()
            let plan = try await Program.run(["migrate", "--dry-run"], settings: settings)
            #expect(plan.output.hasPrefix("would apply migration 0001_queue\n"))
            #expect(plan.output.contains("would apply views/queues\n"))
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

    @Test("applies all functions again beside transactions that have claimed, and waits for none")
    func besideClaims() async throws {
        try await withAppDatabase { database, configuration in
            let settings = try reaching(configuration)
            #expect(try await Program.run(["migrate"], settings: settings).code == 0)
            try await database.execute("update errand.script set sha256 = ''")
            let tables = try await database.query(
                """
                select concat_ws(', ', 'errand.job, errand.worker, errand.failed', string_agg(oid::regclass::text, ', '))
                from pg_class
                where relkind = 'r' and relnamespace::regnamespace::text in (select name from errand.app)
                    -- The creation of a trigger would wait.
                    and exists (select from pg_trigger where tgrelid = pg_class.oid and not tgisinternal)
                """
            ).scalar(String.self)
            try await database.transaction { transaction in
                try await transaction.execute(Statement("lock table \(tables) in row exclusive mode"))
                let again = try await Program.run(["migrate"], settings: settings)
                #expect(again.code == 0)
                #expect(again.output.contains("functions and views\n"))
            }
        }
    }

    @Test("a database with a schema of its own that an app has too is refused before anything changes")
    func taken() async throws {
        try await withAppDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await database.dropSchemas()
            let app = AppSchemas.names[0]
            try await database.execute(Statement("create schema \(app)"))
            try await database.execute(Statement("create table \(app).film (id int)"))
            for arguments in [["migrate", "--apps", "all"], ["migrate", "--apps", app, "--dry-run"]] {
                let program = try await Program.run(arguments, settings: settings)
                #expect(program.code == 78)
                #expect(
                    program.error
                        == "errand: the database has already, and not from Errand: schema \(app) (with film); nothing was "
                        + "changed (give Errand a database of its own, or rename that schema: alter schema … rename to …)"
                )
                #expect(program.output == "")
            }
            #expect(try await database.query("select to_regnamespace('errand') is null").scalar(Bool.self))
        }
    }

    @Test("the queue is installed alone, and runs; apps are added later, with all that they need")
    func apps() async throws {
        try await withAppDatabase { database, configuration in
            try await database.dropSchemas()
            let migrate = { (apps: String) in
                try await Program.run(["migrate", "--apps", apps], settings: reaching(configuration))
            }
            let alone = try await Program.run(["migrate"], settings: reaching(configuration))
            #expect(alone.output.hasSuffix("\nthe queue is installed alone: --apps adds apps to it\n"))
            #expect(try await database.query(Statement.foreignObjects).column(0, as: String.self) == [])
            try await database.execute("select errand.enqueue('noop')")
            let hasRun = Task {
                while try await database.query("select count(*) from errand.history").scalar(Int.self) == 0 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                return true
            }
            let program = try await Program.run(
                ["run"], settings: reaching(configuration), signals: [("registered", SIGTERM)], after: hasRun)
            #expect(program.code == 0)
            #expect(
                try await database.query("select name from errand.schedules").column(0, as: String.self) == [])
            #expect(try await database.query("select name from errand.kind").column(0, as: String.self) == ["noop"])

            let app = try #require(AppSchemas.all.last { !$0.needs.isEmpty })
            let lacking = try await migrate(app.name)
            #expect(lacking.code == 78)
            #expect(lacking.error == "errand: --apps: expected \(app.needs[0]) beside \(app.name), which needs it")
            #expect(
                try await migrate("film").error
                    == "errand: --apps: expected \(AppSchemas.names.joined(separator: ", ")), got 'film'")
            var needed = [app.name]
            for part in AppSchemas.all.reversed() where needed.contains(part.name) { needed += part.needs }
            needed = Set(needed).sorted()
            let added = try await migrate(needed.joined(separator: ","))
            #expect(added.output.contains("applied migration \(app.name)/0001_"))
            for apps in ["none", needed[0]] { #expect(try await migrate(apps).output == "up to date\n") }
            let names = try await database.query("select name from errand.app order by name")
            #expect(try names.column(0, as: String.self) == needed)
            #expect(try await Program.run(["migrate"], settings: reaching(configuration)).output == "up to date\n")
            for table in ["schedule", "handler"] {
                let apps =
                    table == "schedule"
                    ? "select distinct app from errand.schedule"
                    : """
                    select distinct split_part(function, '.', 1) from errand.handler
                    """
                let found = try await database.query(Statement(apps)).column(0, as: String.self)
                #expect(!found.isEmpty && Set(found).isSubset(of: needed), "\(table)")
            }
            #expect(try await migrate("all").code == 0)
        }
    }

    @Test("an app that is added while a worker runs has its jobs run by it, both those in SQL and those in Swift")
    func addedWhileRunning() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration).merging(["ERRAND_HEARTBEAT_INTERVAL": "200ms"]) { $1 }
            let hasRun = Task {
                while try await database.query("select count(*) from errand.worker").scalar(Int.self) == 0 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                let added = try await Program.run(
                    ["migrate", "--apps", "media"], settings: settings)
                #expect(added.code == 0, "\(added.errors)")
                try await database.execute(
                    "select errand.enqueue(kind) from unnest('{removal_cleanup,object_removal}'::text[]) as kind")
                while try await database.query("select count(*) from errand.history").scalar(Int.self) < 2 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                return true
            }
            let worker = try await Program.run(
                ["worker"], settings: settings, signals: [("registered", SIGTERM)], after: hasRun)
            #expect(worker.code == 0, "\(worker.errors)")
            #expect(
                try await database.query("select distinct app from errand.kind where app is not null order by app")
                    .column(0, as: String.self) == ["media"])
        }
    }

    @Test("an encoding without most characters is refused before anything changes")
    func encoding() async throws {
        try await withAppDatabase { database, configuration in
            let name = "latin_\(UUID().uuidString.prefix(8).lowercased())"
            try await database.execute(
                Statement("create database \(name) template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'"))
            let latin = Database(configuration: configuration.with(database: name), maximumConnections: 1)
            let isWhole: Result<Void, any Error>
            do {
                for arguments in [["migrate"], ["migrate", "--dry-run"]] {
                    let program = try await Program.run(arguments, settings: reaching(latin.configuration))
                    #expect(program.code == 78)
                    #expect(
                        program.error
                            == "errand: the database's encoding: expected UTF8 or SQL_ASCII, got LATIN1; nothing was changed "
                            + "(make a database with: create database … encoding 'UTF8' template template0)")
                }
                #expect(try await latin.query("select to_regnamespace('errand') is null").scalar(Bool.self))
                isWhole = .success(())
            } catch {
                isWhole = .failure(error)
            }
            await latin.close()
            try await database.execute(Statement("drop database \(name) with (force)"))
            try isWhole.get()
        }
    }

    @Test("--status lists the applied and the missing steps")
    func status() async throws {
        try await withAppDatabase { database, configuration in
            try await database.execute("delete from errand.script where name = 'views/queues'")
            let program = try await Program.run(["migrate", "--status"], settings: reaching(configuration))
            #expect(program.code == 0)
            #expect(program.output.hasPrefix("applied migration 0001_queue at 20"))
            #expect(program.output.hasSuffix("\nmissing views/queues\n"))
        }
    }

    @Test("--print needs no database: its SQL makes a new one that a run finds up to date, and refuses others")
    func print() async throws {
        let program = try await Program.run(["migrate", "--print", "--apps", "all"])
        #expect(program.code == 0)
        try await withAppDatabase { database, configuration in
            let refused = await #expect(throws: PostgresError.self) {
                try await database.withConnection { try await $0.script(program.output) }
            }
            #expect(refused?.detail.contains("the database has already: schema ") == true, "\(refused as Any)")
            try await database.dropSchemas()
            try await database.withConnection { try await $0.script(program.output) }
            let again = try await Program.run(["migrate"], settings: reaching(configuration))
            #expect(again.output == "up to date\n", "\(again.output)")
            #expect(
                try await database.query("select state from errand.enqueue('noop')").scalar(String.self) == "available")
        }
        #expect(try await Program.run(["migrate", "--print", "--status"]).code == 64)
    }
}

extension Statement {
    /// Tables, functions and types that are neither PostgreSQL's nor in the schemas of the engine, and other
    /// schemas.
    fileprivate static let foreignObjects: Statement = """
        select nspname || '.' || name
        from (
            select relnamespace as schema, relname as name from pg_class
            union all
            select pronamespace, proname from pg_proc
            union all
            select typnamespace, typname from pg_type
            union all
            select oid, '' from pg_namespace where nspname <> 'public'
        ) as object
        join pg_namespace on pg_namespace.oid = object.schema
        where nspname not in ('errand', 'errand_internal', 'pg_catalog', 'information_schema') and nspname !~ '^pg_(toast|temp)'
        """
}
