import Postgres

/// The apps' database objects as SQL texts: one folder and one schema for each app.
///
/// A folder has `migrations/NNNN_subject.sql`, `functions/<name>.sql`, `views/<name>.sql` and `seeds/<name>.sql`. An
/// app inserts itself into `errand.app`. The heads of its scripts declare what each role may call and read. A migration
/// with `-- errand: needs NAME` in its head requires that app.
package enum AppSchemas {
    /// All apps; an app comes after those that it needs.
    package static var all: [SchemaPart] { Embedded.parts }

    package static var names: [String] { all.map(\.name) }

    /// The apps of these names, in the order in which they are applied.
    ///
    /// - Throws: ``UnknownApp`` for an unknown name, ``MissingApp`` if an app needs one that is not among them.
    package static func named(_ names: [String]) throws -> [SchemaPart] {
        if let unknown = names.first(where: { !Self.names.contains($0) }) { throw UnknownApp(name: unknown) }
        let chosen = all.filter { names.contains($0.name) }
        for app in chosen {
            if let missing = app.needs.first(where: { !names.contains($0) }) {
                throw MissingApp(name: missing, neededBy: app.name)
            }
        }
        return chosen
    }
}

package struct UnknownApp: Error, CustomStringConvertible {
    package let name: String

    package var description: String { "expected \(AppSchemas.names.joined(separator: ", ")), got '\(name)'" }
}

package struct MissingApp: Error, CustomStringConvertible {
    package let name: String
    package let neededBy: String

    package var description: String { "expected \(name) beside \(neededBy), which needs it" }
}
