import Postgres

/// The front of many cells as SQL texts: what its schema `errand_front` holds. The schema `errand` of a front is made
/// from a cell's catalog instead, by `errand_internal.front_script`.
///
/// The folder is laid out as the engine's.
package enum FrontSchema {
    package static var part: SchemaPart { Embedded.parts[0] }

    package static func migrator(version: String) -> Migrator { Migrator(version: version, parts: [part]) }
}
