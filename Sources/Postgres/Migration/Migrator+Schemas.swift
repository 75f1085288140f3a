extension Migrator {
    /// For a database whose migrations differ. Releases never edit a migration, so the database is from a development
    /// version, or somebody has edited a file.
    static let startAnew =
        "a database from before 0.1.0 can't be upgraded: drop it and run errand migrate on a new one. On a newer one, "
        + "restore the migration's text"

    /// Refuses a database that can't hold every text: the names and errors of jobs are Unicode.
    func checkEncoding(on connection: Connection) async throws {
        let encoding = try await connection.query("select current_setting('server_encoding')").scalar(String.self)
        guard !["UTF8", "SQL_ASCII"].contains(encoding) else { return }
        throw PostgresError(
            .schema, "the database's encoding: expected UTF8 or SQL_ASCII, got \(encoding); nothing was changed",
            hint: "make a database with: create database … encoding 'UTF8' template template0")
    }

    /// The schemas that a migration creates.
    static func schemas(of migration: Script) -> [(name: String, mayBeThere: Bool)] {
        // A literal within the loop would be compiled for each line.
        let creation = /create schema (if not exists )?(\w+);/
        return migration.sql.split(separator: "\n").compactMap { line in
            line.wholeMatch(of: creation).map { (String($0.2), $0.1 != nil) }
        }
    }

    static let makeRoom = "give Errand a database of its own, or rename that schema: alter schema … rename to …"

    /// Refuses a database that already has one of the schemas: a run would stop half way.
    ///
    /// A schema that is created `if not exists` may exist, if it has only the tables that record runs.
    func checkSchemas(_ applied: Applied, on connection: Connection) async throws {
        var mustBeNew: [String] = []
        var mayBeEmpty: [String] = []
        for migration in migrations where applied.migrations[migration.name] == nil {
            for schema in Self.schemas(of: migration) {
                if schema.mayBeThere { mayBeEmpty.append(schema.name) } else { mustBeNew.append(schema.name) }
            }
        }
        let taken = try await connection.query(
            Statement(
                """
                with thing as (
                    select relnamespace as schema, relname::text as name
                    from pg_class
                    where relkind in ('r', 'p', 'v', 'm', 'S', 'f')
                        and not (
                            relnamespace = to_regnamespace('errand') and relname in ('migration', 'script', 'upgrade'))
                    union all
                    select pronamespace, proname || '()' from pg_proc
                    union all
                    select typnamespace, typname::text from pg_type where typtype in ('e', 'd', 'r')
                )
                select nspname::text,
                    array(select name from thing where schema = pg_namespace.oid order by name limit 3)
                from pg_namespace
                where nspname = any ($1)
                    or nspname = any ($2) and exists (select from thing where schema = pg_namespace.oid)
                order by nspname
                """, [mustBeNew, mayBeEmpty])
        ).map { try $0.decode(String.self, [String].self) }
        guard !taken.isEmpty else { return }
        let list = taken.map { schema, things in
            things.isEmpty ? "\(schema) (empty)" : "\(schema) (with \(things.joined(separator: ", ")))"
        }
        throw PostgresError(
            .schema,
            "the database has already, and not from Errand: schema \(list.joined(separator: ", schema ")); "
                + "nothing was changed", hint: Self.makeRoom)
    }
}
