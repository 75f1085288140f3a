import ArgumentParser
import Postgres
import Schema

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the database's schema up to date.",
        discussion: """
            Applies the migrations that are missing, then the functions and views whose text has changed. Workers may go on
            meanwhile: a step that can't have its lock within 2 s is tried again. Two runs at once do no harm.
            """)

    @Flag(help: "Show what would be done, and do nothing.")
    var dryRun = false

    @Flag(help: "Print the SQL of all scripts, in order; no database is needed.")
    var print = false

    func run() async throws {
        if print {
            for script in Schema.migrations + Schema.replaceable { Swift.print("-- \(script.name)\n\(script.sql)") }
            return
        }
        let environment = try Environment.load()
        try await environment.withConnection(statementTimeout: nil, needsSchema: false) { connection in
            if dryRun {
                let steps = try await Migrator.errand.plan(on: connection)
                for step in steps { Swift.print("would apply \(step)") }
                if steps.isEmpty { Swift.print("up to date") }
                return
            }
            let steps = try await Migrator.errand.run(on: connection) { step in
                // Functions and views are many and quick: their number says enough.
                if case .migration = step { Swift.print("applied \(step)") }
            }
            let scripts = steps.count { if case .script = $0 { true } else { false } }
            if scripts > 0 { Swift.print("applied \(scripts) functions and views") }
            try await connection.execute("select errand.maintain_v1()")
            if steps.isEmpty { Swift.print("up to date") }
        }
    }
}

extension Migrator.Step: CustomStringConvertible {
    package var description: String {
        switch self {
        case .migration(let name): "migration \(name)"
        case .script(let name): name
        }
    }
}
