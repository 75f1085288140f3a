import Foundation
import Postgres

/// A PgBouncer of a test's own, on a Unix socket.
package final class Bouncer {
    /// How to reach the test's database through it.
    package let configuration: PostgresConfiguration
    /// The same as a URL, for a program.
    package let url: String
    private let folder: String
    private let user: String
    private var process = Process()

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
        user = server.2
        folder = "/tmp/errand-bouncer-\(UUID().uuidString.prefix(8))"
        url = "postgresql:///\(database.configuration.database)?host=\(folder)&port=6432&user=\(user)"
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
        pidfile = \(folder)/pid
        auth_type = any
        admin_users = \(user)
        pool_mode = \(mode)
        default_pool_size = \(poolSize)
        """.write(toFile: "\(folder)/bouncer.ini", atomically: true, encoding: .utf8)
        try await start()
    }

    /// Starts it again after ``kill()``, and waits until it serves.
    package func start() async throws {
        process = Process()
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

    /// Kills it, and with it the connections of all clients.
    package func kill() throws {
        let pid = try String(contentsOfFile: "\(folder)/pid", encoding: .utf8)
        if let pid = Int32(pid.trimmingCharacters(in: .whitespacesAndNewlines)) { Foundation.kill(pid, SIGKILL) }
        process.waitUntilExit()
    }

    package func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The URL of its admin console, which accepts only statements of the simple protocol, such as PAUSE.
    package var console: String { "postgresql:///pgbouncer?host=\(folder)&port=6432&user=\(user)" }
}
