/// The database's objects as SQL texts, in the order in which they are applied; they lie inside the program.
///
/// Every `.sql` file of this folder is here without being named in Swift: the build puts it in its list by where it
/// lies. A missing or doubled migration number fails the build.
package enum Schema {
    /// The version of the program that these scripts belong to. It is raised with each release: which of two programs is
    /// the newer one decides who may migrate a database.
    package static let version = "0.2.0"

    /// One file of SQL.
    package struct Script: Sendable, Hashable {
        /// The path below `sql/` without its ending: `functions/queue/enqueue`; of a migration the file's name alone:
        /// `0001_queue`.
        package let name: String
        package let sql: String

        package init(name: String, sql: String) {
            self.name = name
            self.sql = sql
        }
    }

    /// `migrations/NNNN_subject.sql`, by number: each is applied once, and never edited once released.
    package static let migrations = Embedded.migrations
    /// `functions/<area>/<name>.sql`, by area and name: each is applied again when its text has changed. A head that says
    /// `-- errand: after NAME` puts its file behind another one of the list.
    package static let functions = Embedded.functions
    /// `views/<name>.sql`, as the functions are, and behind them.
    package static let views = Embedded.views
    /// `roles.sql`: roles and grants, behind all objects. Empty where there are none.
    package static let roles = Embedded.roles
    /// `seeds/<name>.sql`, by name: the rows that an installation starts with.
    package static let seeds = Embedded.seeds

    /// All that bears being applied again, in the order in which it builds on each other.
    package static var replaceable: [Script] {
        (functions + views + [roles] + seeds).filter { !$0.sql.isEmpty }
    }
}
