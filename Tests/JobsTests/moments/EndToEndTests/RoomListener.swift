import ErrandTestKit
import Foundation
import Logging
import Postgres
import Synchronization

/// The events that a Socket.IO server would get, with the time of each.
final class RoomListener: Sendable {
    struct Event: Sendable {
        let text: String
        let at: Date

        func isOf(_ name: String) -> Bool { text.contains("[\"\(name)\"") }

        var room: String { text.firstMatch(of: /"rooms":\["([^"]*)"\]/).map { String($0.1) } ?? "" }
    }

    private final class Received: Sendable {
        let all = Mutex([Event]())
    }

    private let connection: Connection
    private let received: Received

    init(_ configuration: PostgresConfiguration) async throws {
        // A pooler in transaction mode forwards no notifications.
        let direct = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
        connection = try await Connection.connect(direct, logger: Logger(label: "errand.test"))
        let received = Received()
        self.received = received
        await connection.deliverNotifications { notification in
            let event = Event(text: notification.payload, at: Date())
            received.all.withLock { $0.append(event) }
        }
        // `listen` would split the name at its dot.
        try await connection.script("listen \"socket.io#/\"")
    }

    var all: [Event] { received.all.withLock { $0 } }

    func close() async { await connection.close() }
}
