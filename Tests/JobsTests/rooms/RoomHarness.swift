import ErrandTestKit
import Foundation
import Logging
import Postgres

/// Runs `body`, and returns the Socket.IO events that it has sent: `user:ben new_moment`.
func roomEvents(
    of configuration: PostgresConfiguration, _ database: Database, _ body: () async throws -> Void
) async throws -> [String] {
    // A pooler in transaction mode forwards no notifications.
    let configuration = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
    let listener = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
    // `listen` would split the name at its dot.
    try await listener.script("listen \"socket.io#/\"")
    try await body()
    try await database.execute("select pg_notify('socket.io#/', 'last')")
    var events: [String] = []
    for await notification in listener.notifications {
        if notification.payload == "last" { break }
        events.append(try RoomEvent(notification.payload).text)
    }
    await listener.close()
    return events
}

/// A message of `rooms.emit`.
struct RoomEvent {
    let text: String

    private struct Message: Decodable {
        struct Content: Decodable {
            struct Packet: Decodable { let data: [Argument] }
            struct Options: Decodable { let rooms: [String] }
            let packet: Packet
            let opts: Options
        }
        let data: Content
    }

    private enum Argument: Decodable {
        case name(String)
        case ids([String: String])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let name = try? container.decode(String.self) {
                self = .name(name)
            } else {
                self = .ids(try container.decode([String: String].self))
            }
        }

        var text: String {
            switch self {
            case .name(let name): name
            case .ids(let ids): ids.keys.sorted().joined(separator: ",")
            }
        }
    }

    init(_ payload: String) throws {
        let content = try JSONDecoder().decode(Message.self, from: Data(payload.utf8)).data
        text = (content.opts.rooms + content.packet.data.map(\.text)).joined(separator: " ")
    }
}
