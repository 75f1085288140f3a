/// Brings a database to the schema of this program.
///
/// Migrations are applied once each, by number, each in a transaction of its own; the hash of what was applied is kept, and
/// an edited one is refused. Functions, views, roles and seeds bear being applied again. They are where their text has
/// changed or a function of theirs is gone: all of those in one transaction, so that nobody sees half of them. At the end
/// come the statements that each run needs. One run at a time, by a lock of `errand.migration` that each transaction takes,
/// which holds behind a transaction pooler too.
package struct Migrator: Sendable {
    /// A file of SQL with its name. A migration's begins with its number: `0001_queue`.
    package typealias Script = (name: String, sql: String)

    let version: ProgramVersion
    let migrations: [Script]
    let replaceable: [Script]
    /// What every run does last, also where nothing else is new. A row of text is a warning.
    let completion: [Statement]
    /// How long a statement waits for a table that others use, before the step is tried again. Less than the server's
    /// `deadlock_timeout` (1 s): where a migration and somebody's transaction wait for each other's tables the migration
    /// gives way, before the server ends the other one.
    let lockTimeout: Duration

    /// - Parameters:
    ///   - version: this program's, such as `0.2.0`.
    ///   - replaceable: functions, views, roles, seeds, in the order in which they build on each other.
    ///   - completion: idempotent statements that every run ends with. Their rows of text are warnings.
    package init(
        version: String, migrations: [Script], replaceable: [Script], completion: [Statement] = [],
        lockTimeout: Duration = .milliseconds(500)
    ) {
        self.version = ProgramVersion(version)
        self.migrations = migrations
        self.replaceable = replaceable
        self.completion = completion
        self.lockTimeout = lockTimeout
    }

    /// What a run would do, or did.
    package enum Step: Sendable, Hashable {
        case migration(String)
        case script(String)

        package var name: String {
            switch self {
            case .migration(let name), .script(let name): name
            }
        }
    }
}

// MARK: - What callers call
extension Migrator {
    /// What ``run(on:onStep:onWarning:)`` would do now.
    ///
    /// - Throws: ``PostgresError`` with code `schema` where a migration was edited after it was applied, a newer program has
    ///   migrated the database, or a schema that is to be made belongs to somebody else already.
    package func plan(on connection: Connection) async throws -> [Step] {
        let applied = try await state(on: connection).applied
        try await checkSchemas(applied, on: connection)
        return try await pending(applied, on: connection)
    }

    /// Does it. Another run at the same time is waited for; it then finds nothing left to do.
    ///
    /// - Parameters:
    ///   - onStep: told of each step after it is committed.
    ///   - onWarning: told of each row of the statements that a run ends with.
    /// - Throws: as ``plan(on:)``, and what the server says of a failing script; steps before it stay applied.
    @discardableResult
    package func run(
        on connection: Connection, onStep: @Sendable (Step) -> Void = { _ in },
        onWarning: @Sendable (String) -> Void = { _ in }
    ) async throws -> [Step] {
        // Another run may be making the first tables.
        try await retried(after: Self.statesOfWaits.union(Self.statesOfDuplicates)) {
            try await locked(connection) { try await prepare($0, on: connection) }
        }
        var done: [Step] = []
        for migration in migrations {
            let isApplied = try await retried { try await apply(migration, on: connection) }
            if isApplied {
                done.append(.migration(migration.name))
                onStep(.migration(migration.name))
            }
        }
        let scripts = try await retried { try await applyReplaceable(on: connection) }
        scripts.forEach(onStep)
        for statement in completion {
            // A worker's housekeeping may be making the same partition.
            let rows = try await retried(after: Self.statesOfWaits.union(Self.statesOfDuplicates)) {
                try await locked(connection) { try await $0.query(statement) }
            }
            try rows.column(0, as: String.self).forEach(onWarning)
        }
        return done + scripts
    }
}

// MARK: - How
extension Migrator {
    private func prepare(_ transaction: Transaction, on connection: Connection) async throws {
        // Nothing is judged before the lock is held: another run may be making the schema. What is refused is rolled back.
        // Only a table of another program is: ours would be commented column by column.
        try await Applied.checkIsOurs(on: connection)
        try await Self.makeTables(on: connection)
        try await lock(connection)
        try await checkSchemas(state(on: connection).applied, on: connection)
        try await recordUpgrade(in: transaction)
    }

    private func apply(_ migration: Script, on connection: Connection) async throws -> Bool {
        let runsAlone = migration.sql.hasPrefix("-- errand: no-transaction")
        let isDue = try await locked(connection) { transaction in
            let applied = try await state(on: connection).applied
            guard applied.migrations[migration.name] == nil else { return false }
            if !runsAlone {
                try await run(migration, on: connection)
                try await record(migration, in: transaction)
            }
            return true
        }
        if isDue, runsAlone {
            // A statement that can't run in a transaction, such as create index concurrently: it bears repetition, and two
            // runs at once may both come here. The lock can't be held meanwhile: the index waits for whoever waits for it.
            try await withoutTimeout(connection) { try await run(migration, on: connection) }
            return try await locked(connection) { try await record(migration, in: $0) }
        }
        return isDue
    }

    /// A statement outside of a transaction takes as long as it takes, too. Where there is no limit nothing is set: behind a
    /// transaction pooler it could stay with a session that others get.
    private func withoutTimeout(_ connection: Connection, _ body: () async throws -> Void) async throws {
        let limit = try await connection.query("select current_setting('statement_timeout')").scalar(String.self)
        guard limit != "0" else { return try await body() }
        let setting = "select set_config('statement_timeout', $1, false)"
        try await connection.execute(Statement(setting, ["0"]))
        do {
            try await body()
        } catch {
            _ = try? await connection.execute(Statement(setting, [limit]))
            throw error
        }
        try await connection.execute(Statement(setting, [limit]))
    }

    private func run(_ script: Script, on connection: Connection) async throws(PostgresError) {
        do {
            try await connection.script(script.sql)
        } catch  where error.code == .rejected {
            throw PostgresError(.schema, "\(script.name): \(error.detail)", sqlState: error.sqlState, hint: error.hint)
        }
    }

    /// False where another run has recorded it meanwhile.
    @discardableResult
    private func record(_ migration: Script, in transaction: Transaction) async throws -> Bool {
        try await transaction.execute(
            Statement(
                """
                insert into errand.migration (name, sha256)
                values ($1, encode(sha256(convert_to($2, 'UTF8')), 'hex'))
                on conflict (name) do nothing
                """, [migration.name, migration.sql])) == 1
    }

    private func applyReplaceable(on connection: Connection) async throws -> [Step] {
        try await locked(connection) { transaction in
            let (applied, hashes) = try await state(on: connection)
            let missing = try await missingFunctions(of: replaceable, on: connection)
            let changed = replaceable.filter {
                applied.scripts[$0.name] != hashes[$0.name] || missing.contains(.script($0.name))
            }
            for script in changed {
                try await run(script, on: connection)
                try await transaction.execute(
                    Statement(
                        """
                        insert into errand.script (name, sha256)
                        values ($1, $2)
                        on conflict (name) do update
                        set sha256 = excluded.sha256, applied_at = now()
                        """, [script.name, hashes[script.name]]))
            }
            return changed.map { .script($0.name) }
        }
    }

    /// What the database has, and the hashes of this program's scripts, where this program may change it.
    private func state(on connection: Connection) async throws -> (applied: Applied, hashes: [String: String]) {
        let applied = try await Applied.read(from: connection)
        let hashes = try await readHashes(on: connection)
        try checkEdits(applied, hashes: hashes)
        try checkNotNewer(applied, hashes: hashes)
        return (applied, hashes)
    }

    func pending(_ applied: Applied, on connection: Connection) async throws -> [Step] {
        let hashes = try await readHashes(on: connection)
        let missing = try await missingFunctions(of: replaceable, on: connection)
        return migrations.filter { applied.migrations[$0.name] == nil }.map { .migration($0.name) }
            + replaceable.map { ($0.name, Step.script($0.name)) }
            .filter { applied.scripts[$0.0] != hashes[$0.0] || missing.contains($0.1) }.map(\.1)
    }

    /// The scripts' hashes, by name; the server has the function.
    func readHashes(on connection: Connection) async throws -> [String: String] {
        let scripts = migrations + replaceable
        let rows = try await connection.query(
            Statement(
                """
                select name, encode(sha256(convert_to(sql, 'UTF8')), 'hex')
                from unnest($1, $2) as script(name, sql)
                """, [scripts.map(\.name), scripts.map(\.sql)]))
        var hashes: [String: String] = [:]
        for row in rows {
            let (name, hash) = try row.decode(String.self, String.self)
            hashes[name] = hash
        }
        return hashes
    }

    func checkEdits(_ applied: Applied, hashes: [String: String]) throws {
        for (name, hash) in applied.migrations.sorted(by: { $0.key < $1.key }) {
            guard let expected = hashes[name], expected != hash else { continue }
            throw PostgresError(
                .schema,
                "migration \(name) differs from the one that this database has: expected sha256 \(hash.prefix(12))…, "
                    + "got \(expected.prefix(12))…", hint: Self.startAnew)
        }
    }
}
