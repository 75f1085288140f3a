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

    fileprivate static func checkColumns(on connection: Connection) async throws {
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
        // The comments on columns would fail on another program's table.
        if try await connection.query("select to_regclass('errand.migration') is not null").scalar(Bool.self) {
            try await Applied.checkColumns(on: connection)
        }
        try await connection.script(tables)
    }

    static let tables = """
        set local client_min_messages = warning;
        create schema if not exists errand;
        create table if not exists errand.migration (
            name text not null,
            sha256 text not null,
            applied_at timestamptz not null default now(),
            constraint migration_pkey primary key (name)
        );
        comment on table errand.migration is 'The migrations that were applied, with the hash of their text';
        comment on column errand.migration.name is 'the file''s name without its extension';
        comment on column errand.migration.sha256 is 'the hash of the text that was applied';
        comment on column errand.migration.applied_at is 'when it was applied';
        create table if not exists errand.script (
            name text not null,
            sha256 text not null,
            applied_at timestamptz not null default now(),
            constraint script_pkey primary key (name)
        );
        comment on table errand.script is
            'The functions, views, roles and seeds that were applied; each is applied again when its text changes';
        comment on column errand.script.name is 'the file''s path without its extension';
        comment on column errand.script.sha256 is 'the hash of the text that was applied';
        comment on column errand.script.applied_at is 'when it was last applied';
        create table if not exists errand.upgrade (
            version text not null,
            oldest_program text not null,
            started_at timestamptz not null default now(),
            constraint upgrade_pkey primary key (version)
        );
        comment on table errand.upgrade is 'The programs that have migrated this database';
        comment on column errand.upgrade.version is 'the program''s version';
        comment on column errand.upgrade.oldest_program is 'the oldest program that can run on its schema';
        comment on column errand.upgrade.started_at is 'start of its first migration of this database';
        """
}
