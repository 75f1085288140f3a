import ErrandTestKit
import Logging
import Postgres

@testable import Errand

/// A role without rights of its own beyond enqueuing, with a schema whose functions handle jobs.
struct FunctionApp {
    let database: Database
    /// The role, and its schema.
    let name: String

    /// Creates a function `name.function(payload jsonb, state jsonb)` that the role owns.
    func create(
        _ function: String, declare: String = "",
        as attributes: String = "security definer set search_path = pg_catalog, pg_temp",
        _ body: String
    ) async throws {
        try await act(
            """
            create or replace function \(name).\(function)(payload jsonb, state jsonb) returns errand.outcome
            language plpgsql \(attributes) as $f$
            declare
                \(declare)
            begin
                \(body)
                return errand.outcome_done();
            end
            $f$
            """)
    }

    /// Makes it the handler of the kind of its name.
    func handle(_ kind: String, declare: String = "", timeout: String = "30 s", _ body: String) async throws {
        try await create(kind, declare: declare, body)
        try await act("select errand.put_handler('\(kind)', '\(name).\(kind)', '\(timeout)')")
    }

    /// Runs a statement in a session of the role.
    func act(_ sql: String) async throws {
        try await database.transaction { transaction in
            try await transaction.execute(Statement("set local session authorization \(name)"))
            try await transaction.execute(Statement(sql))
        }
    }
}

/// Runs `body` with an app whose table `effect` its functions write to.
func withFunctionApp<T: Sendable>(_ body: (FunctionApp, Database) async throws -> T) async throws -> T {
    try await withTestDatabase(connections: 4) { database, _ in
        let name = "app_\(UInt32.random(in: .min ... .max))"
        try await database.execute(Statement("create role \(name) in role errand_enqueuer"))
        try await database.execute(Statement("create schema \(name) authorization \(name)"))
        let app = FunctionApp(database: database, name: name)
        let owner = try await database.query(
            "select nspowner::regrole::text from pg_namespace where nspname = 'errand'"
        ).scalar(String.self)
        try await app.act("grant usage on schema \(name) to \(owner)")
        try await app.act("create table \(name).effect (job text, transaction xid8 default pg_current_xact_id())")
        let result: Result<T, any Error>
        do { result = .success(try await body(app, database)) } catch { result = .failure(error) }
        try await database.execute(Statement("drop owned by \(name) cascade"))
        try await database.execute(Statement("drop role \(name)"))
        return try result.get()
    }
}

/// Runs a worker that takes up new handlers within a tenth of a second, for as long as `body` runs.
func withFunctionWorker(
    of database: Database, connections: Int = 2, _ body: () async throws -> Void
) async throws {
    var configuration = WorkerConfiguration.withoutMaintenance
    configuration.heartbeatInterval = .milliseconds(100)
    configuration.functionConnections = connections
    configuration.grace = .seconds(2)
    let worker = Worker(
        database: database, configuration: configuration, logger: Logger(label: "worker"), handlers: Handlers())
    try await worker.runs(while: body)
}
