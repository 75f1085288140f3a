import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

extension Database {
    /// Makes a pair of two users.
    @discardableResult
    func pair(_ one: String, _ other: String) async throws -> UUID {
        try #require(try await redeem(try await invite(one), as: other).pair)
    }

    /// Registers a device for each user.
    func registerDevices(of users: String...) async throws {
        for user in users {
            try await execute(
                Statement(
                    "select devices.register($1, 'apns', encode(sha256(convert_to($1, 'UTF8')), 'hex'), environment => 'sandbox')",
                    [user]))
        }
    }

    /// A photo of that owner whose original is nowhere: it is compressed and stored by ``compress(_:)`` and
    /// ``store(_:)``.
    func photo(of owner: String) async throws -> UUID {
        try await query(
            Statement("select media.submit('moments/' || gen_random_uuid() || '.jpg', $1)", [owner])
        ).scalar(UUID.self)
    }

    @discardableResult
    func sendMoment(_ photo: UUID, from sender: String) async throws -> String {
        try await query(Statement("select status from moments.send($1, $2)", [sender, photo])).scalar(String.self)
    }

    /// Sends a photo and stores it. Returns its id.
    @discardableResult
    func storeMoment(from sender: String) async throws -> UUID {
        let photo = try await photo(of: sender)
        #expect(try await sendMoment(photo, from: sender) == "sent")
        try await compress(photo)
        try await deliver(photo)
        return photo
    }

    /// Runs the pending jobs moment_arrival. Returns their states.
    @discardableResult
    func arrive() async throws -> [String] {
        try await query(
            """
            with due as (
                delete from errand.job where kind = 'moment_arrival' returning (payload ->> 'moment')::uuid as moment
            )
            select moments.arrive_v1(moment) from due order by moment
            """
        ).column(0, as: String.self)
    }

    /// The moments and photos in the database, with their states: `anna current`.
    var moments: [String] {
        get async throws {
            #expect(
                try await number("select count(*) from media.photo") == number("select count(*) from moments.moment"))
            return try await lines("select sender || ' ' || state from moments.moment_status order by sent_at")
        }
    }

    /// What was sent to devices, in order: the receiver, the title, and the event among the data.
    var notifications: [String] {
        get async throws {
            try await lines(
                """
                select user_id, coalesce(title, text.default_title, '-'), data ->> 'event'
                from notify.delivery
                join notify.message on message.id = message_id
                left join lateral notify.text_of(profile, null, words) as text (default_title, default_body) on true
                order by delivery.id
                """)
        }
    }
}

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
