/// Whether a program can run on a database.
package struct SchemaFit: Sendable {
    /// What this program needs and the database lacks; empty if the program can run.
    package var lacks: [Migrator.Step]
    /// The newer version that has migrated the database, as far as known; nil if the database isn't newer.
    package var newer: String?
}

extension Migrator {
    /// Checks whether this program can run on the database. Takes a few round trips, 5 ms.
    ///
    /// A database that is not newer must have exactly this program's scripts. On a newer database the program can run
    /// too, for rolling deploys: functions for workers have a version in their name (`claim_v1`) and never change once
    /// released. All of them must exist, and no migration may declare that it breaks programs of this version.
    ///
    /// - Throws: ``PostgresError`` with code `schema` if a migration was edited after it was applied, or if the
    ///   database is too new for this program.
    package func fit(on connection: Connection) async throws -> SchemaFit {
        let applied = try await Applied.read(from: connection)
        let hashes = try await readHashes(on: connection)
        try checkEdits(applied, hashes: hashes)
        guard let newer = newer(applied, hashes: hashes) else {
            return SchemaFit(lacks: try await pending(applied, on: connection, hashes: hashes))
        }
        if let oldest = applied.upgrades.map(\.oldestProgram).max(), version < oldest {
            throw PostgresError(
                .schema,
                "the database was migrated by errand \(newer), on which programs before \(oldest) can't run; "
                    + "this is \(version)", hint: "run errand \(newer)")
        }
        let unapplied = migrations.filter { applied.migrations[$0.name] == nil }
        // Functions with a version in their name: this program calls them, and newer programs keep them.
        let name = /(\w+\/)?functions\/.*_v[0-9]+/
        let versioned = replaceable.filter { $0.name.wholeMatch(of: name) != nil }
        return SchemaFit(
            lacks: try await unapplied.map { .migration($0.name) } + missingFunctions(of: versioned, on: connection),
            newer: newer)
    }

    /// Refuses a database that only a newer program may migrate: this one would restore older functions.
    func checkNotNewer(_ applied: Applied, hashes: [String: String]) throws {
        if let unknown = applied.migrations.keys.sorted().first(where: { hashes[$0] == nil && isOurs($0) }) {
            throw PostgresError(
                .schema, "the database has migration \(unknown), which this version of errand doesn't know",
                hint: "it was migrated by a newer version: run that one")
        }
        if let newer = newer(applied, hashes: hashes) {
            throw PostgresError(
                .schema, "the database was migrated by errand \(newer), and this is \(version)",
                hint: "it is up to date for both: leave it to the newer one")
        }
    }

    /// Records that this program begins to migrate the database, before it changes anything. From then on, programs
    /// that can't run on the result are refused.
    func recordUpgrade(in transaction: Transaction) async throws {
        try await transaction.execute(
            Statement(
                """
                insert into errand.upgrade as existing (version, oldest_program)
                values ($1, $2)
                on conflict (version) do update
                set oldest_program = excluded.oldest_program
                where existing.oldest_program <> excluded.oldest_program
                """, [version.description, oldestProgram.description]))
    }

    private func newer(_ applied: Applied, hashes: [String: String]) -> String? {
        if let newest = applied.upgrades.map(\.version).max(), newest > version { return newest.description }
        return applied.migrations.keys.contains { hashes[$0] == nil && isOurs($0) } ? "of a newer version" : nil
    }

    /// The oldest program that can run with all migrations, according to the heads of migrations that break older
    /// programs.
    var oldestProgram: ProgramVersion {
        let mark = "-- errand: breaks programs before "
        let heads = migrations.flatMap { migration in
            migration.sql.split(separator: "\n").prefix { $0.hasPrefix("--") }.filter { $0.hasPrefix(mark) }
        }
        return heads.map { ProgramVersion($0.dropFirst(mark.count)) }.max() ?? ProgramVersion("0")
    }

    /// The scripts with a function that the database lacks.
    func missingFunctions(of scripts: [Script], on connection: Connection) async throws -> [Step] {
        var made: [(script: String, function: String)] = []
        let creation = "create or replace function ".utf8
        for script in scripts {
            // Bytes are compared: a regular expression takes 0.1 s for all scripts.
            for line in script.sql.utf8.split(separator: UInt8(ascii: "\n")) where line.starts(with: creation) {
                let name = Substring(line.dropFirst(creation.count).prefix { $0 != UInt8(ascii: "(") })
                made.append((script.name, String(name)))
            }
        }
        let rows = try await connection.query(
            Statement(
                """
                select distinct script
                from unnest($1, $2) as made (script, name)
                where not exists (
                    select
                    from pg_proc
                    where proname = split_part(name, '.', 2)
                        and pronamespace = to_regnamespace(split_part(name, '.', 1)))
                """, [made.map(\.script), made.map(\.function)]))
        let missing = Set(try rows.column(0, as: String.self))
        return scripts.filter { missing.contains($0.name) }.map { .script($0.name) }
    }
}
