import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

/// A server whose tables or whose WAL have a small disk of their own, which a test can fill.
///
/// The disk is a tmpfs below the cluster's folder. Only root can mount it.
struct SmallDisk {
    enum Part {
        case tables, wal
    }

    let cluster: KillableCluster
    let database: Database
    let url: String
    /// Where the disk is mounted.
    private let mount: String
    private var filler: String { mount + "/filler" }
    private var log: String { cluster.folder.path + "/postgres.log" }

    static var isPossible: Bool { geteuid() == 0 }

    /// Moves `part` of a migrated cluster to a disk of its own, and drops both at the end.
    static func with(_ part: Part, megabytes: Int, _ body: (SmallDisk) async throws -> Void) async throws {
        let cluster = try await KillableCluster.migrated()
        let mount = cluster.folder.appendingPathComponent(part == .tables ? "data" : "wal").path
        do {
            try await cluster.stop()
            try await move(part, of: cluster, to: mount, megabytes: megabytes)
            try await cluster.start()
            let url = try await cluster.url()
            let database = Database(
                configuration: try PostgresConfiguration(url: url),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await body(SmallDisk(cluster: cluster, database: database, url: url, mount: mount))
            await database.close()
        } catch {
            try? await remove(cluster, mount)
            throw error
        }
        try await remove(cluster, mount)
    }

    private static func move(_ part: Part, of cluster: KillableCluster, to mount: String, megabytes: Int) async throws {
        let disk = "mount -t tmpfs -o size=\(megabytes)m,mode=700 errand-test '\(mount)'"
        switch part {
        case .tables:
            // The WAL stays where it was: a full disk under it ends the server.
            try await shell(
                """
                cd '\(cluster.folder.path)'
                mv data before
                mkdir data
                \(disk)
                mv before/pg_wal wal
                cp -a before/. data/
                ln -s "$PWD/wal" data/pg_wal
                rm -rf before
                """)
        case .wal:
            // As little as possible is recycled, so that the server soon needs room for a new segment.
            try await shell(
                """
                cd '\(cluster.folder.path)'
                mkdir wal
                \(disk)
                cp -a data/pg_wal/. wal/
                rm -rf data/pg_wal
                ln -s "$PWD/wal" data/pg_wal
                printf '%s\\n' 'min_wal_size = 32MB' 'max_wal_size = 64MB' >> data/postgresql.conf
                """)
        }
    }

    private static func remove(_ cluster: KillableCluster, _ mount: String) async throws {
        // With room it stops in good order.
        try? FileManager.default.removeItem(atPath: mount + "/filler")
        try? await cluster.stop()
        _ = try? await shell("! mountpoint -q '\(mount)' || umount -l '\(mount)'")
        try await cluster.drop()
    }
}

// MARK: - The fault
extension SmallDisk {
    /// Takes the last free block.
    func fill() async throws {
        try await shell(
            """
            dd if=/dev/zero of='\(filler)' bs=64k oflag=append conv=notrunc status=none 2> /dev/null || true
            dd if=/dev/zero of='\(filler)' bs=4k oflag=append conv=notrunc status=none 2> /dev/null || true
            [ "$(df --output=avail '\(mount)' | tail -n 1)" -eq 0 ]
            """)
    }

    func empty() throws { try FileManager.default.removeItem(atPath: filler) }

    /// How many lines of the server's log have `text`.
    func logged(_ text: String) throws -> Int { try lines(with: text).count }

    /// The lines of the server's log that have `text`.
    func lines(with text: String) throws -> [String] {
        try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
            .filter { $0.contains(text) }
    }
}
