/// A part of a schema with its own sequence of migrations: the engine, or an app beside it.
///
/// An app's scripts have its name, `media/0001_photo`, so its migrations are numbered and recorded separately.
package struct SchemaPart: Sendable {
    /// `engine`, or the app's name.
    package let name: String
    /// The apps that must be there too: `-- errand: needs NAME` in the head of a migration.
    package let needs: [String]
    package let migrations: [Migrator.Script]
    /// Functions, views and seeds, in the order in which they build on each other.
    package let replaceable: [Migrator.Script]
    /// Roles and rights, which are applied after all parts.
    package let roles: [Migrator.Script]

    package init(
        name: String, needs: [String], migrations: [Migrator.Script], replaceable: [Migrator.Script],
        roles: [Migrator.Script]
    ) {
        self.name = name
        self.needs = needs
        self.migrations = migrations
        self.replaceable = replaceable
        self.roles = roles
    }
}

extension Migrator {
    /// A migrator of these parts, the engine first.
    package init(version: String, parts: [SchemaPart], completion: [Statement] = []) {
        self.init(
            version: version, migrations: parts.flatMap(\.migrations),
            replaceable: parts.flatMap(\.replaceable) + parts.flatMap(\.roles), completion: completion)
    }

    /// All scripts, in the order in which they are applied.
    package var scripts: [Script] { migrations + replaceable }

    /// Whether a migration belongs to a part of this program. Migrations of other apps don't show which program is
    /// newer.
    func isOurs(_ migration: String) -> Bool {
        let part = Self.part(of: migration)
        return part == nil || migrations.contains { Self.part(of: $0.name) == part }
    }

    /// The app that a migration belongs to; nil for the engine's.
    private static func part(of migration: String) -> Substring? {
        migration.firstIndex(of: "/").map { migration[..<$0] }
    }
}
