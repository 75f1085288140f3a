/// Brings a database to the schema of this program.
///
/// Migrations are applied once each, by number, each in a transaction of its own. The hash of the applied text is
/// stored, and an edited migration is refused. Functions, views, roles and seeds are idempotent. They are applied again
/// if their text has changed or one of their functions is missing, all in one transaction. Each run ends with some
/// statements. Runs exclude each other by a lock of `errand.migration` in each transaction, which also works behind a
/// transaction pooler.
package struct Migrator: Sendable {
    /// An SQL file with its name. A migration's name begins with its number: `0001_queue`.
    package typealias Script = (name: String, sql: String)

    let version: ProgramVersion
    let migrations: [Script]
    let replaceable: [Script]
    /// Statements at the end of every run. A row of text is a warning.
    let completion: [Statement]
    /// How long a statement waits for a locked table before the step is retried. It is less than the server's
    /// `deadlock_timeout` (1 s): in a deadlock the migration gives up before the server aborts the other transaction.
    let lockTimeout: Duration

    /// - Parameters:
    ///   - version: this program's version, such as `0.2.0`.
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

    /// The same schema as a program of another version has it. Its functions and views have other hashes, so each of
    /// the two migrators replaces those of the other.
    package func rewritten(for version: String) -> Migrator {
        Migrator(
            version: version, migrations: migrations,
            replaceable: replaceable.map { ($0.name, $0.sql + "\n-- of version \(version)\n") }, completion: completion,
            lockTimeout: lockTimeout)
    }

    /// A step that a run would take, or took.
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
    /// Returns the steps that ``run(on:onStep:onWarning:)`` would take now.
    ///
    /// - Throws: ``PostgresError`` with code `schema` if a migration was edited after it was applied, if a newer
    ///   program has migrated the database, if another program has one of the schemas, or if the database's encoding
    ///   can't hold all texts.
    package func plan(on connection: Connection) async throws -> [Step] {
        try await checkEncoding(on: connection)
        let hashes = try await readHashes(on: connection)
        let applied = try await readApplied(on: connection, hashes: hashes)
        try await checkSchemas(applied, on: connection)
        return try await pending(applied, on: connection, hashes: hashes)
    }

    /// Takes the steps. A concurrent run waits, and then finds nothing left to do.
    ///
    /// - Parameters:
    ///   - onStep: called with each step after it is committed.
    ///   - onWarning: called with each row of the statements at the end.
    /// - Throws: as ``plan(on:)``, and the server's error of a failing script. Earlier steps stay applied.
    @discardableResult
    package func run(
        on connection: Connection, onStep: @Sendable (Step) -> Void = { _ in },
        onWarning: @Sendable (String) -> Void = { _ in }
    ) async throws -> [Step] {
        try await checkEncoding(on: connection)
        let hashes = try await readHashes(on: connection)
        // Another run may be creating the first tables.
        try await retried(after: Self.statesOfWaits.union(Self.statesOfDuplicates)) {
            try await locked(connection) { try await prepare($0, on: connection, hashes: hashes) }
        }
        var done: [Step] = []
        for migration in migrations {
            let isApplied = try await retried { try await apply(migration, on: connection, hashes: hashes) }
            if isApplied {
                done.append(.migration(migration.name))
                onStep(.migration(migration.name))
            }
        }
        let scripts = try await retried { try await applyReplaceable(on: connection, hashes: hashes) }
        scripts.forEach(onStep)
        for statement in completion {
            // A worker's maintenance may be creating the same partition.
            let rows = try await retried(after: Self.statesOfWaits.union(Self.statesOfDuplicates)) {
                try await locked(connection) { try await $0.query(statement) }
            }
            try rows.column(0, as: String.self).forEach(onWarning)
        }
        return done + scripts
    }
}

// MARK: - Helpers
extension Migrator {
    private func prepare(
        _ transaction: Transaction, on connection: Connection, hashes: [String: String]
    ) async throws {
        // All checks follow the lock, because another run may be creating the schema. A refusal rolls back.
        try await Self.makeTables(on: connection)
        try await lock(connection)
        try await checkSchemas(readApplied(on: connection, hashes: hashes), on: connection)
        try await recordUpgrade(in: transaction)
    }

    /// The first line of a migration outside of a transaction.
    static let runsAlone = "-- errand: no-transaction"

    private func apply(
        _ migration: Script, on connection: Connection, hashes: [String: String]
    ) async throws -> Bool {
        let runsAlone = migration.sql.hasPrefix(Self.runsAlone)
        let isDue = try await locked(connection) { transaction in
            let applied = try await readApplied(on: connection, hashes: hashes)
            guard applied.migrations[migration.name] == nil else { return false }
            if !runsAlone {
                try await run(migration, on: connection)
                try await record(migration, in: transaction)
            }
            return true
        }
        if isDue, runsAlone {
            // A statement that can't run in a transaction, such as create index concurrently. It is idempotent, since
            // two concurrent runs may both come here. The lock can't be held meanwhile: the index would wait for
            // sessions that wait for the lock.
            try await withoutTimeout(connection) { try await run(migration, on: connection) }
            return try await locked(connection) { try await record(migration, in: $0) }
        }
        return isDue
    }

    /// A statement outside of a transaction may take long too. Without a timeout nothing is set: behind a transaction
    /// pooler the setting could stay in a session that others get.
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

    /// Returns false if another run has recorded it meanwhile.
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

    private func applyReplaceable(on connection: Connection, hashes: [String: String]) async throws -> [Step] {
        try await locked(connection) { transaction in
            let applied = try await readApplied(on: connection, hashes: hashes)
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

    /// What was applied to the database. Throws if this program may not change the database.
    private func readApplied(on connection: Connection, hashes: [String: String]) async throws -> Applied {
        let applied = try await Applied.read(from: connection)
        try checkEdits(applied, hashes: hashes)
        try checkNotNewer(applied, hashes: hashes)
        return applied
    }

    func pending(_ applied: Applied, on connection: Connection, hashes: [String: String]) async throws -> [Step] {
        let missing = try await missingFunctions(of: replaceable, on: connection)
        return migrations.filter { applied.migrations[$0.name] == nil }.map { .migration($0.name) }
            + replaceable.map { ($0.name, Step.script($0.name)) }
            .filter { applied.scripts[$0.0] != hashes[$0.0] || missing.contains($0.1) }.map(\.1)
    }

    /// The hashes of this program's scripts, by name. The server computes them.
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
