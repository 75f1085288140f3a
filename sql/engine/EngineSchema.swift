import Postgres

/// The engine's database objects as SQL texts, in the order in which they are applied; they lie inside the program.
///
/// Every `.sql` file of this folder is embedded without being named in Swift: its path determines its list. A missing
/// or duplicate migration number fails the build.
///
/// - `migrations/NNNN_subject.sql`, by number: each is applied once, and never edited once released.
/// - `functions/<area>/<name>.sql` and `views/<name>.sql`, by name: each is applied again when its text has changed. A
///   head that says `-- errand: after NAME` puts its file behind another one of the list.
/// - `roles.sql`: roles and grants, behind all objects, those of the apps too.
package enum EngineSchema {
    /// The version of the program that these scripts belong to. It is raised with each release: which of two programs
    /// is the newer one decides who may migrate a database.
    package static let version = "0.2.0"

    package static var part: SchemaPart { Embedded.parts[0] }

    /// The migrator of the engine's schema, and of the apps beside it.
    ///
    /// Each run creates the partitions of the next days and grants the roles' rights. Statements that the database's
    /// user lacks rights for are warnings.
    package static func migrator(with apps: [SchemaPart] = []) -> Migrator {
        Migrator(
            version: version, parts: [part] + apps,
            completion: [
                "do $$ begin perform errand.make_partitions_v1(); end $$", "select * from errand.apply_rights()",
            ])
    }
}
