import Errand
import Foundation
import Logging

/// The server that all contenders share, seen from beside their databases.
struct Cluster: Sendable {
    private let url: String
    private let admin: Database
    /// The server's first process: all others are its children.
    private let postmaster: Int

    /// - Parameter url: of any database of the cluster, with its name in the path.
    init(url: String) async throws {
        self.url = url
        admin = try Self.database(url: Self.url(url, database: "postgres"))
        let backend = try await admin.query("select pg_backend_pid()").scalar(Int32.self)
        guard let postmaster = ProcessFigures(of: Int(backend))?.parent else {
            throw BenchError("the server isn't on this machine: its processes are not in /proc")
        }
        self.postmaster = postmaster
    }

    func close() async { await admin.close() }

    static func url(_ url: String, database: String) -> String {
        guard var parts = URLComponents(string: url) else { return url }
        parts.path = "/" + database
        return parts.string ?? url
    }

    /// Statements take what they take.
    static func database(url: String, connections: Int = 2) throws -> Database {
        var configuration = try PostgresConfiguration(url: url)
        configuration.statementTimeout = nil
        configuration.applicationName = "bench"
        var logger = Logger(label: "bench")
        logger.logLevel = .warning
        return Database(configuration: configuration, maximumConnections: connections, logger: logger)
    }
}

// MARK: - Databases
extension Cluster {
    /// Replaces the database of that name with an empty one; returns its URL.
    func freshDatabase(_ name: String) async throws -> String {
        try await drop(name)
        try await admin.execute(Statement("create database \(name)"))
        return Self.url(url, database: name)
    }

    func drop(_ name: String) async throws {
        try await admin.execute(Statement("drop database if exists \(name) with (force)"))
    }

    func checkpoint() async throws { try await admin.execute("checkpoint") }

    func bytes(of database: String) async throws -> Double {
        try await number("select pg_database_size($1)::float8", [database])
    }

    /// Transactions that the database has ended so far, told with up to a second's delay.
    func transactions(of database: String) async throws -> Double {
        try await number(
            "select (xact_commit + xact_rollback)::float8 from pg_stat_database where datname = $1", [database])
    }

    /// Clients' connections to a database.
    func connections(to database: String) async throws -> Double {
        try await number(
            "select count(*)::float8 from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
            [database])
    }

    private func number(_ sql: String, _ parameters: [any PostgresEncodable] = []) async throws -> Double {
        try await admin.query(Statement(sql, parameters)).scalar(Double.self)
    }
}

// MARK: - What it has cost
extension Cluster {
    /// What the server has written to its log so far.
    ///
    /// Sessions tell with up to a second's delay, and all when they end: read it after the contender has left.
    struct Written: Sendable {
        let bytes: Double
        /// How many pages were logged whole.
        let pageImages: Double
    }

    func written() async throws -> Written {
        let rows = try await admin.query("select wal_bytes::float8, wal_fpi::float8 from pg_stat_wal")
        guard let row = rows.first else { throw BenchError("pg_stat_wal is empty") }
        let (bytes, pageImages) = try row.decode(Double.self, Double.self)
        return Written(bytes: bytes, pageImages: pageImages)
    }

    /// Microseconds of CPU of all of the server's processes so far, those that have ended included.
    ///
    /// One that ends just now is either still there or on its parent's account: it is looked at until nobody ended
    /// meanwhile.
    var processorTime: Double {
        for _ in 0..<100 {
            let before = ProcessFigures(of: postmaster)
            let alive = ProcessFigures.all.filter { $0.parent == postmaster || $0.id == postmaster }
            guard let after = ProcessFigures(of: postmaster) else { break }
            if before?.processorTimeOfEnded == after.processorTimeOfEnded {
                return alive.reduce(after.processorTimeOfEnded) { $0 + $1.processorTime }
            }
        }
        return 0
    }

    /// The version and the settings that decide what is measured.
    func settings() async throws -> [String: String] {
        var settings: [String: String] = [:]
        let names = [
            "server_version", "shared_buffers", "synchronous_commit", "fsync", "full_page_writes", "wal_compression",
            "max_wal_size", "jit",
        ]
        for name in names {
            let row = try await admin.query(Statement("select current_setting($1)", [name]))
            settings[name] = try row.scalar(String.self)
        }
        return settings
    }
}
