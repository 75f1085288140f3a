extension Migrator {
    /// What ``run(on:onStep:onWarning:)`` does to a new database, as one text for `psql` or any other client, with the
    /// same records: a run afterwards finds nothing to do.
    ///
    /// All of it is one transaction, but for migrations that run alone. It refuses a database that has a schema of this
    /// one's names already.
    ///
    /// - Parameter hash: the SHA-256 of a text in UTF-8, in hexadecimal digits.
    package func script(hash: (String) -> String) -> String {
        let head = """
            -- Errand \(version), whole, for a new database: tables, functions, views, and the rights of its roles.
            --
            --   psql --quiet --tuples-only --set ON_ERROR_STOP=1 --file errand.sql "$DATABASE_URL"
            --
            -- `errand migrate` of this version then finds nothing to do, and that of a later one upgrades it.
            \(Self.begin)
            do $$
            declare
                taken constant text := (
                    select string_agg(nspname, ', ') from pg_namespace where nspname in (\(newSchemas)));
            begin
                if taken is not null then
                    raise exception 'the database has already: schema %; nothing was changed', taken
                        using hint = 'On a database of an earlier version, run `errand migrate`.';
                elsif current_setting('server_encoding') not in ('UTF8', 'SQL_ASCII') then
                    raise exception 'the database''s encoding: expected UTF8 or SQL_ASCII, got %; nothing was changed',
                        current_setting('server_encoding');
                end if;
            end
            $$;
            \(Self.tables)
            insert into errand.upgrade (version, oldest_program) values ('\(version)', '\(oldestProgram)');

            """
        let migrated = migrations.map { migration in
            let alone = migration.sql.hasPrefix(Self.runsAlone)
            return (alone ? "commit;\n" : "") + text(of: migration) + (alone ? Self.begin + "\n" : "")
                + "insert into errand.migration (name, sha256) values ('\(migration.name)', '\(hash(migration.sql))');\n"
        }
        let replaced = replaceable.map(text)
        let records = replaceable.map { "    ('\($0.name)', '\(hash($0.sql))')" }.joined(separator: ",\n")
        let completed = completion.map { "\($0.sql);\n" }
        return
            ([head] + migrated + replaced + ["\ninsert into errand.script (name, sha256) values\n\(records);\n"]
            + completed + ["commit;\n"]).joined()
    }

    private static let begin =
        "begin;\n" + settings.map { "set local \($0) = \($1);" }.joined(separator: "\n")

    private func text(of script: Script) -> String { "\n-- \(script.name)\n\(script.sql)\n" }

    /// The schemas that a run creates, as SQL literals.
    private var newSchemas: String {
        Set(migrations.flatMap { Self.schemas(of: $0).map { "'\($0.name)'" } } + ["'errand'"]).sorted()
            .joined(separator: ", ")
    }
}
