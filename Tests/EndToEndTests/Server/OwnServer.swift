import ErrandTestKit
import Foundation
import Logging
import Postgres
import StorageKit
import Testing

/// Runs `body` with a server of its own that has Errand's schema, and deletes it afterwards. The sessions of `database`
/// use the server's Unix socket, so faults of a network or a pooler don't reach them.
func withOwnServer(_ body: (_ cluster: KillableCluster, _ database: Database) async throws -> Void) async throws {
    let cluster = try await KillableCluster.migrated()
    let database = Database(
        configuration: try PostgresConfiguration(url: await cluster.url()), maximumConnections: 4,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    do {
        try await body(cluster, database)
    } catch {
        await database.close()
        try? await cluster.drop()
        throw error
    }
    await database.close()
    try await cluster.drop()
}

extension Database {
    /// The path of the server's Unix socket.
    func socket() async throws -> String {
        try await query(
            "select current_setting('unix_socket_directories') || '/.s.PGSQL.' || current_setting('port')"
        ).scalar(String.self)
    }

    /// Expects that all `jobs` end within `limit`: each succeeds in its first attempt, and none is rescued.
    func expectEachRunsOnce(_ jobs: Int, within limit: Duration) async throws {
        let isDone = try await becomes("not exists (select from errand.job)", within: limit)
        #expect(isDone, "jobs are left after \(limit)")
        #expect(try await count("from errand.history where state = 'succeeded'") == jobs, "lost, or ended twice")
        #expect(try await count("from (select distinct id from errand.history) as one") == jobs, "lost")
        #expect(try await count("from errand.failed") == 0)
        #expect(try await count("from errand.history where attempt > 1 or crashes > 0") == 0, "ran twice")
    }

    /// How many seconds after `moment`, a time of the server's clock, the first job was claimed; nil if none was.
    func secondsToClaim(after moment: String) async throws -> Double? {
        try await query(
            Statement(
                """
                select extract(epoch from min(started_at) - '\(moment)')::float8
                from errand.history
                where started_at > '\(moment)'
                """)
        ).scalar(Double?.self)
    }

    /// The time of the server's clock.
    func now() async throws -> String { try await query("select clock_timestamp()::text").scalar(String.self) }
}

extension Program {
    /// Expects that it has not crashed, and ends it.
    func expectToStop() async throws {
        #expect(isRunning, "\(output.suffix(2000))")
        send(SIGTERM)
        #expect(try await exit() == 0, "\(output.suffix(2000))")
        for word in ["Fatal error", "Crash", "Assertion", "malloc", "free()"] { #expect(!output.contains(word)) }
    }

    /// How many lines of its output have `text`.
    func lines(with text: String) -> Int { output.split(separator: "\n").count { $0.contains(text) } }
}
