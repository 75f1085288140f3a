import Postgres

/// The engine's database objects as SQL texts, in the order in which they are applied. The program contains them.
///
/// Swift names no `.sql` file of this folder: the build lists each by its folder. A missing or doubled migration
/// number fails the build.
///
/// - `migrations/NNNN_subject.sql`, by number: each is applied once, and never edited after a release.
/// - `functions/<area>/<name>.sql` and `views/<name>.sql`, by name: each is applied again when its text has changed.
///   `-- errand: after NAME` in the head puts a file after another one of the list.
/// - `roles.sql`: the rights, after all objects of the engine and the apps.
package enum EngineSchema {
    /// The version of the program that these scripts belong to. Each release raises it: only the newer one of two
    /// programs may migrate a database.
    package static let version = "0.1.0"

    package static var part: SchemaPart { Embedded.parts[0] }

    /// The migrator of the engine's schema and of these apps.
    ///
    /// Each run creates the partitions of the days ahead and sets the rights of the roles. If the database's user may
    /// not do so, the run returns a warning.
    package static func migrator(with apps: [SchemaPart] = []) -> Migrator {
        Migrator(
            version: version, parts: [part] + apps,
            completion: [
                "do $$ begin perform errand_internal.make_partitions(); end $$",
                "select * from errand_internal.apply_rights()",
            ])
    }
}
