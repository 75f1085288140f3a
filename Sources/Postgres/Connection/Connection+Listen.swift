import CLibpq
import Foundation

extension Connection {
    /// Listens to a channel from now on; see ``notifications``.
    package nonisolated func listen(_ channel: String) async throws(PostgresError) {
        try await execute(Statement("listen \(Identifier(channel))"))
    }

    /// Calls `receiver` on the connection's thread for each notification from now on. It must not block. A stream needs
    /// one more switch between threads, a tenth of the time that an idle worker takes to start a job.
    package func deliverNotifications(to receiver: @escaping @Sendable (PostgresNotification) -> Void) {
        notificationReceiver = receiver
    }

    /// Whether a NOTIFY that `database` sends arrives on this connection within a second. False behind a transaction
    /// pooler, which accepts LISTEN but delivers nothing. After false, the connection must not be used any more.
    package nonisolated func listenIsDelivered(from database: Database) async throws(PostgresError) -> Bool {
        let channel = "errand_probe_\(UInt32.random(in: 0 ... .max))"
        try await listen(channel)
        // From another connection: a session notifies itself even behind a pooler.
        try await database.execute(Statement("select pg_notify($1, '')", [channel]))
        let arrived = await withTaskGroup { group in
            group.addTask { [notifications] in
                for await notification in notifications where notification.channel == channel { return true }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(1))
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        // This throws if the connection was lost meanwhile.
        try await execute(Statement("unlisten \(Identifier(channel))"))
        return arrived
    }

    /// Delivers notifications that came with the last reply: poll() doesn't report them.
    func drainNotifications(on connection: OpaquePointer) {
        while let notify = PQnotifies(connection) {
            let notification = PostgresNotification(
                channel: String(cString: notify.pointee.relname), payload: String(cString: notify.pointee.extra))
            PQfreemem(notify)
            if let notificationReceiver {
                notificationReceiver(notification)
            } else {
                notified.yield(notification)
            }
        }
    }

    /// Reads what the server sends by itself while the connection is idle.
    func readUnasked() {
        guard let handle else { return }
        let isRead = PQconsumeInput(handle.pointer) == 1
        while PQisBusy(handle.pointer) == 0, let result = PQgetResult(handle.pointer) { PQclear(result) }
        drainNotifications(on: handle.pointer)
        if !isRead || handle.isClosing || PQstatus(handle.pointer) == CONNECTION_BAD { close() }
    }
}

/// A name in SQL, quoted.
struct Identifier: CustomStringConvertible {
    let description: String

    init(_ name: String) {
        description = name.split(separator: ".", omittingEmptySubsequences: false)
            .map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" }
            .joined(separator: ".")
    }
}
