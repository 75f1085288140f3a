import Foundation
import Postgres

/// A PgBouncer of a test's own, on a Unix socket.
package struct Bouncer {
    /// How to reach the test's database through it.
    package let configuration: PostgresConfiguration
    private let folder: String
    private let process = Process()

    /// Starts it, and waits until it serves.
    ///
    /// - Parameters:
    ///   - database: the test's database, on a server with a Unix socket.
    ///   - mode: `session` or `transaction`.
    ///   - poolSize: how many connections it opens to the server.
    package init(before database: Database, mode: String, poolSize: Int) async throws {
        let server = try await database.query(
            "select current_setting('unix_socket_directories'), current_setting('port'), current_user::text"
        )[0].decode(String.self, String.self, String.self)
        folder = "/tmp/errand-bouncer-\(UUID().uuidString.prefix(8))"
        let url = "postgresql:///\(database.configuration.database)?host=\(folder)&port=6432&user=\(server.2)"
        configuration = try PostgresConfiguration(url: url)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
        try """
        [databases]
        * = host=\(server.0) port=\(server.1) user=\(server.2)
        [pgbouncer]
        listen_addr =
        listen_port = 6432
        unix_socket_dir = \(folder)
        auth_type = any
        pool_mode = \(mode)
        default_pool_size = \(poolSize)
        """.write(toFile: "\(folder)/bouncer.ini", atomically: true, encoding: .utf8)
        // PgBouncer refuses to run as root.
        process.executableURL = URL(fileURLWithPath: getuid() == 0 ? "/usr/sbin/runuser" : "/usr/sbin/pgbouncer")
        process.arguments =
            (getuid() == 0 ? ["-u", "postgres", "--", "/usr/sbin/pgbouncer"] : []) + ["-q", "\(folder)/bouncer.ini"]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let probe = Database(configuration: configuration, maximumConnections: 1)
        for _ in 0..<200 {
            if (try? await probe.query("select 1")) != nil { break }
            try await Task.sleep(for: .milliseconds(20))
        }
        _ = try await probe.query("select 1")
        await probe.close()
    }

    package func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
