import Foundation
import StorageKit
import Subprocess
import Synchronization
import SystemPackage

/// A separate cluster, whose server can be killed without harm to other tests.
struct KillableCluster {
    let folder: URL
    private var zones: URL?
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../scripts/cluster.sh").standardizedFileURL.path

    init() async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-\(UUID().uuidString)")
        try await start()
    }

    /// A copy of a cluster that was created and migrated once for all tests, which takes a fraction of the time.
    ///
    /// - Parameter zones: a folder that its server reads time zones from, instead of the system's. Only root can mount
    ///   it.
    static func migrated(zones: URL? = nil) async throws -> KillableCluster {
        let original = try await template.value
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-\(UUID().uuidString)")
        // The server's user writes its log there.
        try await shell(
            """
            mkdir '\(folder.path)'
            cp -a '\(original.path)/data' '\(folder.path)/data'
            chown --reference '\(original.path)/data' '\(folder.path)'
            """)
        let cluster = KillableCluster(folder: folder, zones: zones)
        try await cluster.start()
        return cluster
    }

    private static let template = Task {
        let cluster = try await KillableCluster()
        let migration = try Program(["migrate", "--apps", "all"], database: try await cluster.url())
        guard try await migration.exit() == 0 else {
            throw ShellError(text: "errand migrate failed: \(migration.output)")
        }
        try await cluster.stop()
        deleted.withLock { $0 = cluster.folder.path }
        atexit { KillableCluster.deleted.withLock { try? FileManager.default.removeItem(atPath: $0) } }
        return cluster.folder
    }
    /// The template's folder, which is deleted with the end of the process.
    private static let deleted = Mutex("")

    private init(folder: URL, zones: URL?) {
        self.folder = folder
        self.zones = zones
    }

    /// A standby of `primary` that accepts reads.
    init(copying primary: KillableCluster) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-\(UUID().uuidString)")
        let url = try await primary.url().replacing("/errand?", with: "/postgres?")
        try await shell(
            """
            mkdir '\(folder.path)'
            pg_basebackup --dbname '\(url)' --pgdata '\(folder.path)/data' --write-recovery-conf --checkpoint fast
            chown -R --reference '\(primary.folder.path)/data' '\(folder.path)'
            """)
        try await start()
    }

    func start() async throws { try await call("start") }

    /// Kills the server process. Its children notice and exit.
    func kill() throws {
        let lock = try String(contentsOf: folder.appendingPathComponent("data/postmaster.pid"), encoding: .utf8)
        guard let pid = lock.split(separator: "\n").first.flatMap({ Int32($0) }) else { return }
        Foundation.kill(pid, SIGKILL)
    }

    /// Stops the server in good order.
    func stop() async throws { try await call("stop") }

    func drop() async throws { try await call("drop") }

    func url() async throws -> String { try await call("url") }

    @discardableResult
    private func call(_ action: String) async throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-\(UUID().uuidString).log")
            .path
        defer { try? FileManager.default.removeItem(atPath: path) }
        // Into a file, not a pipe: the server that it starts would hold a pipe open.
        let file = try FileDescriptor.open(path, .writeOnly, options: .create, permissions: .ownerReadWrite)
        var command = [Self.script, action, folder.path]
        if let zones {
            let mount = #"mount --bind "$1" /usr/share/zoneinfo && shift && exec "$@""#
            command = ["/usr/bin/unshare", "--mount", "sh", "-c", mount, "sh", zones.path] + command
        }
        let result = try await Subprocess.run(
            .path(FilePath(command[0])), arguments: Arguments(Array(command.dropFirst())),
            environment: .custom(["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]),
            output: .fileDescriptor(file, closeAfterSpawningProcess: false),
            error: .fileDescriptor(file, closeAfterSpawningProcess: true))
        let said = try String(contentsOfFile: path, encoding: .utf8)
        guard result.terminationStatus.isSuccess else { throw ShellError(text: "cluster.sh \(action): \(said)") }
        return said.split(separator: "\n").last.map(String.init) ?? ""
    }
}

/// A real S3 server over a folder. When it is killed, all acknowledged objects are on disk.
final class KillableBucket {
    let folder: URL
    let port: Int
    static let keys = (access: "MORTALKEY", secret: "mortal/secret")
    private let program: String
    private var process: Process?

    /// - Parameter port: a free port.
    init(port: Int) async throws {
        guard let program = ProcessInfo.processInfo.environment["ERRAND_TEST_RCLONE"] else {
            throw ShellError(text: "ERRAND_TEST_RCLONE: expected the path of rclone, got nothing; `make test` sets it")
        }
        self.program = program
        self.port = port
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("bucket-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("photos"), withIntermediateDirectories: true)
        try await start()
    }

    deinit {
        if let process { Foundation.kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts the server, and returns once it accepts connections.
    func start() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "serve", "s3", "--config", "/dev/null", "--addr", "127.0.0.1:\(port)",
            "--auth-key", "\(Self.keys.access),\(Self.keys.secret)", folder.path,
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
        while process.isRunning, !isListening(on: port) { try await Task.sleep(for: .milliseconds(10)) }
    }

    func kill() throws {
        if let process { Foundation.kill(process.processIdentifier, SIGKILL) }
        process?.waitUntilExit()
        process = nil
    }

    var url: String { "s3://photos?endpoint=http://127.0.0.1:\(port)&plaintext=true&conditions=head" }
}

struct ShellError: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}
