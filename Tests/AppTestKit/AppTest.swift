import AppSchemas
import EngineSchema
import Errand
import ErrandTestKit
import Logging
import Postgres

extension Migrator {
    /// The migrator of the engine and all apps.
    package static var errand: Migrator { EngineSchema.migrator(with: AppSchemas.all) }
}

extension TestSchema {
    /// All apps.
    package static var withApps: TestSchema { TestSchema(apps: AppSchemas.all) }
}

/// ``withTestDatabase(connections:schema:logger:_:)`` with all apps.
package func withAppDatabase<T: Sendable>(
    connections: Int = 8, schema: [String] = [], logger: Logger? = nil,
    _ body: (Database, PostgresConfiguration) async throws -> T
) async throws -> T {
    try await withTestDatabase(
        connections: connections, schema: TestSchema(apps: AppSchemas.all, scripts: schema), logger: logger, body)
}

/// ``withTestQueue(_:worker:schema:logger:_:)`` with all apps.
package func withAppQueue<T: Sendable>(
    _ handlers: [any JobHandler] = [], worker: WorkerConfiguration = WorkerConfiguration(), schema: [String] = [],
    logger: Logger? = nil, _ body: (TestQueue) async throws -> T
) async throws -> T {
    try await withTestQueue(
        handlers, worker: worker, schema: TestSchema(apps: AppSchemas.all, scripts: schema), logger: logger, body)
}
