import Postgres

/// The apps' database objects as SQL texts: a folder an app, each a schema of its own beside the engine's.
///
/// A folder has `migrations/NNNN_subject.sql`, `functions/<name>.sql`, `views/<name>.sql` and `seeds/<name>.sql`, as
/// the engine has. An app enters itself into `errand.app`, and says who may call and read what by a function `rights()`
/// of its own. A migration whose head says `-- errand: needs NAME` can't be applied without that app.
package enum AppSchemas {
    /// Required apps come first.
    package static var all: [SchemaPart] { Embedded.parts }

    package static var names: [String] { all.map(\.name) }

    /// The apps of these names, in the order in which they are applied.
    ///
    /// - Throws: ``UnknownApp`` for a name that none has, ``MissingApp`` if one lacks an app that it needs.
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
