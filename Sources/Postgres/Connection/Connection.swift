import CLibpq
import Glibc
import Logging

/// One connection to PostgreSQL, on a thread of its own.
///
/// Within the actor all code is sequential: send, wait in poll(), read. Nothing awaits in the middle of a statement, so
/// two statements never mix. A transaction over several calls needs the connection alone, which the pool ensures.
public actor Connection {
    nonisolated let executor: ConnectionExecutor
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    let configuration: PostgresConfiguration
    let logger: Logger
    var handle: ConnectionHandle?
    /// Nil until the first statement.
    var checkedSession: Session?
    var preparedStatements = PreparedStatements()
    /// NOTIFY messages of the channels listened to, unless ``deliverNotifications(to:)`` was called; finishes when the
    /// connection is lost or closed.
    package nonisolated let notifications: AsyncStream<PostgresNotification>
    let notified: AsyncStream<PostgresNotification>.Continuation
    var notificationReceiver: (@Sendable (PostgresNotification) -> Void)?

    private init(_ configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        executor = ConnectionExecutor()
        (notifications, notified) = AsyncStream.makeStream(
            of: PostgresNotification.self, bufferingPolicy: .bufferingNewest(1024))
    }

    deinit {
        notified.finish()
        executor.stop()
    }

    /// Opens a connection. Takes up to the connect timeout for each host.
    package static func connect(
        _ configuration: PostgresConfiguration, logger: Logger
    ) async throws(PostgresError) -> Connection {
        let connection = Connection(configuration, logger: logger)
        try await connection.open()
        return connection
    }

    private func open() throws(PostgresError) {
        var tried: [Int] = []
        var messages: [String] = []
        while let host = configuration.hosts.next(after: tried) {
            tried.append(host)
            let start = ContinuousClock.now
            let connection = attempt(host)
            if let connection, PQstatus(connection) == CONNECTION_OK {
                configuration.hosts.note(.accepted, of: host)
                opened(connection, to: host)
                return
            }
            messages.append(Self.message(connection))
            PQfinish(connection)
            let hung = ContinuousClock.now - start > HostOrder.refusalTimeout
            configuration.hosts.note(hung ? .hung : .refused, of: host)
        }
        let message = messages.joined(separator: "\n")
        throw PostgresError(.connectionLost, message.isEmpty ? "no memory for a connection" : message)
    }

    private func opened(_ connection: OpaquePointer, to host: Int) {
        PQsetnonblocking(connection, 1)
        handle = ConnectionHandle(connection, host: host)
        executor.watch(socket: PQsocket(connection)) { [weak self] in
            self?.assumeIsolated { $0.readUnasked() }
        }
    }

    private func attempt(_ host: Int) -> OpaquePointer? {
        let connection = Self.attempt(configuration.keywords(withOptions: true, host: host))
        guard PQstatus(connection) != CONNECTION_OK,
            Self.message(connection).contains("unsupported startup parameter")
        else { return connection }
        // PgBouncer accepts no `options` by default. The client's own deadline still holds.
        PQfinish(connection)
        return Self.attempt(configuration.keywords(withOptions: false, host: host))
    }

    private static func attempt(_ keywords: [(String, String)]) -> OpaquePointer? {
        let names = keywords.map { strdup($0.0) }
        let values = keywords.map { strdup($0.1) }
        defer { (names + values).forEach { free($0) } }
        return PQconnectdbParams(
            names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
    }

    static func message(_ connection: OpaquePointer?) -> String {
        PQerrorMessage(connection).map { String(cString: $0) } ?? ""
    }

    /// Closes the connection. Does nothing if it is already closed.
    public func close() {
        guard handle != nil else { return }
        executor.watch(socket: -1, onReadable: nil)
        handle = nil
        notified.finish()
    }

    public var isOpen: Bool { handle != nil }

    /// Such as 150018 for 15.18.
    public var serverVersion: Int { handle.map { Int(PQserverVersion($0.pointer)) } ?? 0 }

    /// The server's address, and the protection of the connection; nil if the connection is closed.
    package var transport: Transport? { handle.map { Transport($0.pointer) } }

    /// The process id of the session's server process; behind a pooler, one that the pooler invents.
    package var serverProcess: Int32 { handle.map { PQbackendPID($0.pointer) } ?? 0 }
}

/// Owns a libpq connection.
final class ConnectionHandle {
    let pointer: OpaquePointer
    let cancel: CancelHandle?
    /// The index of its host among the configuration's, and when it accepted.
    let host: Int
    let opened = ContinuousClock.now
    /// Whether the server has announced the end of the session, some milliseconds before it closes the socket.
    private(set) var isClosing = false

    init(_ pointer: OpaquePointer, host: Int) {
        self.pointer = pointer
        self.host = host
        cancel = CancelHandle(pointer)
        // By default notices go to standard error. An error that belongs to no statement arrives as a notice too. The
        // handle outlives the connection that calls back.
        PQsetNoticeReceiver(
            pointer,
            { handle, notice in
                // PG_DIAG_SEVERITY_NONLOCALIZED: a macro that Swift doesn't import.
                guard let severity = PQresultErrorField(notice, Int32(UInt8(ascii: "V"))) else { return }
                if strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0 {
                    Unmanaged<ConnectionHandle>.fromOpaque(handle!).takeUnretainedValue().isClosing = true
                }
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { PQfinish(pointer) }
}

/// A message of NOTIFY.
package struct PostgresNotification: Sendable, Hashable {
    package let channel: String
    package let payload: String
}
