import ErrandTestKit
import Logging
import Postgres

@testable import Errand

/// Runs a worker for as long as `body` runs, on a database of its own.
func withWorker<T: Sendable>(
    _ handlers: [any JobHandler] = [], configure: (inout WorkerConfiguration) -> Void = { _ in },
    _ body: (Database, Queue) async throws -> T
) async throws -> T {
    var configuration = WorkerConfiguration.withoutMaintenance
    configuration.grace = .seconds(2)
    configure(&configuration)
    let fixed = configuration
    return try await withTestDatabase { database, _ in
        let worker = Worker(
            database: database, configuration: fixed, logger: Logger(label: "worker"), handlers: Handlers(handlers))
        return try await worker.runs { try await body(database, Queue(database: database)) }
    }
}

extension Worker {
    /// Runs for as long as `body` does.
    func runs<T: Sendable>(while body: () async throws -> T) async throws -> T {
        let running = Task { try await run() }
        do {
            let result = try await body()
            running.cancel()
            try await running.value
            return result
        } catch {
            running.cancel()
            _ = try? await running.value
            throw error
        }
    }
}

extension WorkerConfiguration {
    /// For tests that call the parts of maintenance by hand.
    static var withoutMaintenance: WorkerConfiguration {
        var configuration = WorkerConfiguration()
        configuration.maintenance = false
        return configuration
    }
}

extension Database {
    /// The result of a query that counts rows.
    func count(_ sql: String) async throws -> Int {
        try await query(Statement("select count(*) \(sql)")).scalar(Int.self)
    }

    /// Repeats the query until `sql` is true, at most for `limit`. Returns whether it became true.
    func becomes(
        _ sql: String, within limit: Duration = .seconds(60), after step: () async throws -> Void = {}
    ) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            try await step()
            if try await query(Statement("select \(sql)")).scalar(Bool.self) { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    /// Whether all jobs are finished.
    func drains(within limit: Duration = .seconds(60)) async throws -> Bool {
        try await becomes("not exists (select from errand.job)", within: limit)
    }

    /// Makes due jobs available, like maintenance.
    func promote() async throws {
        try await execute("select errand_internal.promote(1000, '-infinity')")
        try await execute("select errand_internal.release_parked()")
    }
}
