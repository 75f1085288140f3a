import AppSchemas
import ArgumentParser
import Cryptography
import ErrandStorage
import Postgres
import Synchronization

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Bring the database's schema up to date.",
        discussion: """
            errand migrate --dry-run && errand migrate

            Applies missing migrations, then functions and views whose text has changed. Workers \
            may run meanwhile: a step that doesn't get its lock within 0.5 s is retried. Concurrent runs are safe.

            errand migrate --print > errand.sql

            is the same for a new database, by psql alone: the file begins with the call. Later versions upgrade it.

            errand migrate --apps NAME,NAME

            adds apps beside the queue. From then on the database has them, each run upgrades them, and the workers run \
            their jobs within a heartbeat. A new database has none.

            errand migrate --drop-app NAME [--reason 'nobody uses it']

            shows what an app has. With a reason it drops the app: its unfinished jobs are cancelled, the workers remove \
            its objects from the store, then its schema, schedules and kinds go.

            errand migrate --cell 3

            makes a new database cell 3 of several, so that its job ids are not those of other cells. Of several \
            databases in DATABASE_URL, each is migrated in turn; the first failure ends the command, which can be run again.
            """)

    @Flag(help: "Show what would be applied, and change nothing.")
    var dryRun = false

    @Flag(help: "Show applied migrations with their times, and missing ones.")
    var status = false

    @Flag(help: "Print all of it as SQL for psql and a new database, in one transaction; no database is needed.")
    var print = false

    @Option(help: "Which cell of several this database is, 0 to 1023. It is set once, before the first job.")
    var cell: Int?

    @Option(help: "Apps to add: all, none, or names with commas between, such as media,pairing.")
    var apps: String?

    @Option(help: "An app to drop. Without a --reason, what it has is shown, and nothing changes.")
    var dropApp: String?

    @Option(help: "Why the app is dropped, for the audit.")
    var reason: String?

    func validate() throws {
        guard dropApp == nil || !(dryRun || status || print || apps != nil || cell != nil) else {
            throw ValidationError("--drop-app: expected no other option but --reason")
        }
        guard reason == nil || dropApp != nil else { throw ValidationError("--reason: expected --drop-app beside it") }
        guard cell == nil || !(dryRun || status || print) else {
            throw ValidationError("--cell: expected without --dry-run, --status and --print, which change nothing")
        }
        guard [dryRun, status, print].count(where: \.self) <= 1 else {
            throw ValidationError("--dry-run, --status, --print: expected at most one of them")
        }
    }

    func run() async throws {
        let environment = try Environment.load()
        if print {
            let migrator = try environment.migrator(of: chosenApps)
            Swift.print(migrator.script { SHA256.hash(Array($0.utf8)).hex }, terminator: "")
            return
        }
        let cells = try environment.cells()
        guard cells.count == 1 || cell == nil else {
            throw ConfigurationError("DATABASE_URL: expected one database for --cell, got \(cells.count)")
        }
        for cell in cells {
            if let name = cell.name { Swift.print("\(name.printable):") }
            do {
                try await run(on: cell, of: environment)
            } catch let error as PostgresError where cell.name != nil {
                let failure = Failure(error)
                throw Failure(
                    code: failure?.code ?? Failure.failed,
                    "\(cell.name ?? ""): \(failure?.message ?? error.description)")
            }
        }
    }

    private var chosenApps: [String] {
        switch apps {
        case "all": AppSchemas.names
        case nil, "none": []
        case let text?:
            text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingPrefix(" ").description }
        }
    }

    private func run(on cell: Cell, of environment: Environment) async throws {
        try await environment.withConnection(
            to: cell.configuration, statementTimeout: nil, needsSchema: false
        ) { connection in
            if let dropApp {
                return try await DropApp(app: dropApp, reason: reason, connection: connection).run()
            }
            let migrator = try await environment.migrator(for: connection, adding: chosenApps)
            if dryRun {
                try await showPlan("would apply", of: migrator, on: connection)
            } else if status {
                try await showApplied(on: connection)
                try await showPlan("missing", of: migrator, on: connection)
            } else {
                try await migrate(connection, by: migrator)
            }
        }
    }

    private func migrate(_ connection: Connection, by migrator: Migrator) async throws {
        let bar = ProgressBar()
        let total = try await migrator.plan(on: connection).count
        let done = Mutex(0)
        let steps = try await migrator.run(
            on: connection,
            onStep: { step in
                bar.end()
                // Functions and views are many: only their number is printed.
                if case .migration = step { Swift.print("applied \(step)") }
                let count = done.withLock { count in
                    count += 1
                    return count
                }
                bar.show(Double(count) / Double(max(total, 1)), "\(count) of \(total): \(step)")
            },
            onWarning: { writeError("warning: \($0)") })
        bar.end()
        let scripts = steps.count { if case .script = $0 { true } else { false } }
        if scripts > 0 { Swift.print("applied \(scripts) functions and views") }
        if steps.isEmpty { Swift.print("up to date") }
        if apps == nil, !steps.isEmpty, try await connection.installedApps().isEmpty {
            Swift.print("the queue is installed alone: --apps adds apps to it")
        }
        if let cell {
            let isNew = try await connection.query(
                Statement("select errand_internal.set_cell($1::int)", [cell])
            ).scalar(Bool.self)
            Swift.print(isNew ? "this database is cell \(cell) now" : "this database is cell \(cell)")
        }
        if let original = try await connection.query("select errand.copy_of()").scalar(String?.self) {
            writeError("warning: \(StartObstacle.copy(of: original))")
        }
    }

    private func showPlan(_ word: String, of migrator: Migrator, on connection: Connection) async throws {
        let steps = try await migrator.plan(on: connection)
        for step in steps { Swift.print("\(word) \(step)") }
        if steps.isEmpty { Swift.print("up to date") }
    }

    private func showApplied(on connection: Connection) async throws {
        let isThere = try await connection.query("select to_regclass('errand.migration') is not null")
        guard try isThere.scalar(Bool.self) else { return }
        let applied = try await connection.query(
            """
            select name, to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            from errand.migration
            order by name like '%/%', name
            """)
        for row in applied {
            let (name, time) = try row.decode(String.self, String.self)
            Swift.print("applied migration \(name) at \(time)")
        }
    }
}

extension Migrator.Step: CustomStringConvertible {
    package var description: String {
        switch self {
        case .migration: "migration \(name)"
        case .script: name
        }
    }
}
