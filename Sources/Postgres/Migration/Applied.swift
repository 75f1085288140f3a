/// The migrations and scripts that a database has, with their hashes, and the programs that applied them.
struct Applied {
    var migrations: [String: String] = [:]
    var scripts: [String: String] = [:]
    var upgrades: [(version: ProgramVersion, oldestProgram: ProgramVersion)] = []

    static func read(from connection: Connection) async throws -> Applied {
        let tables = try await connection.query(
            "select to_regclass('errand.migration') is not null, to_regclass('errand.upgrade') is not null")
        let (isThere, hasUpgrades) = try tables[0].decode(Bool.self, Bool.self)
        guard isThere else { return Applied() }
        try await checkColumns(on: connection)
        var applied = Applied()
        let known = try await connection.query(
            """
            select name, sha256, true from errand.migration
            union all
            select name, sha256, false from errand.script
            """)
        for row in known {
            let (name, hash, isMigration) = try row.decode(String.self, String.self, Bool.self)
            if isMigration { applied.migrations[name] = hash } else { applied.scripts[name] = hash }
        }
        // Older programs recorded no upgrades.
        guard hasUpgrades else { return applied }
        for row in try await connection.query("select version, oldest_program from errand.upgrade") {
            let (version, oldest) = try row.decode(String.self, String.self)
            applied.upgrades.append((ProgramVersion(version), ProgramVersion(oldest)))
        }
        return applied
    }

    private static func checkColumns(on connection: Connection) async throws {
        let found = try await connection.query(
            """
            select count(*) filter (where attname in ('name', 'sha256', 'applied_at'))
            from pg_attribute
            where attrelid = 'errand.migration'::regclass and attnum > 0
            """
        ).scalar(Int.self)
        guard found == 3 else {
            throw PostgresError(
                .schema, "the table errand.migration is another program's; nothing was changed",
                hint: Migrator.makeRoom)
        }
    }
}

extension Migrator {
    /// Creates the tables that record runs.
    static func makeTables(on connection: Connection) async throws {
        try await connection.script(
            """
            set local client_min_messages = warning;
            create schema if not exists errand;
            create table if not exists errand.migration (
                name text not null,
                sha256 text not null,
                applied_at timestamptz not null default now(),
                constraint migration_pkey primary key (name)
            );
            comment on table errand.migration is 'The migrations that this database has, with the hash of what was applied';
            create table if not exists errand.script (
                name text not null,
                sha256 text not null,
                applied_at timestamptz not null default now(),
                constraint script_pkey primary key (name)
            );
            comment on table errand.script is
                'The functions, views, roles and seeds that this database has, applied again when their text changes';
            create table if not exists errand.upgrade (
                version text not null,
                oldest_program text not null,
                started_at timestamptz not null default now(),
                constraint upgrade_pkey primary key (version)
            );
            comment on table errand.upgrade is 'The programs that have migrated this database';
            comment on column errand.upgrade.version is 'the version of such a program';
            comment on column errand.upgrade.oldest_program is
                'the oldest program that can run on the schema of that version';
            comment on column errand.upgrade.started_at is 'when it began to migrate for the first time';
            """)
    }
}
