/// What a database has of migrations and scripts: name and hash.
struct Applied {
    var migrations: [String: String] = [:]
    var scripts: [String: String] = [:]

    static func read(from connection: Connection) async throws -> Applied {
        let rows = try await connection.query("select to_regclass('errand.migration') is not null")
        guard try rows.scalar(Bool.self) else { return Applied() }
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
        return applied
    }
}

extension Migrator {
    /// Makes the tables in which runs are recorded.
    static func prepare(_ connection: Connection) async throws {
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
            """)
    }
}
