import ErrandTestKit
import Foundation
import Logging
import Postgres

/// A Socket.IO server as far as its PostgreSQL adapter goes: it listens to a namespace, fetches attachments, and drops
/// what the adapter drops.
struct SocketServer {
    /// A notification's payload, and the message that the server has made of it.
    struct Message {
        let payload: String
        let isAttached: Bool
        /// JSON.
        let text: String
    }

    /// A message that the adapter ignores.
    struct Dropped: Error {
        let payload: String
    }

    let database: Database
    let connection: Connection
    let namespace: String
    let channel: String
    let table: String

    init(
        _ database: Database, _ configuration: PostgresConfiguration, prefix: String = "socket.io",
        namespace: String = "/", table: String = "socket_io_attachments"
    ) async throws {
        // A pooler in transaction mode forwards no notifications.
        let configuration = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
        connection = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
        (self.database, self.namespace, self.table) = (database, namespace, table)
        channel = "\(prefix)#\(namespace)"
        // As the adapter quotes it.
        try await connection.script("listen \"\(channel)\"")
    }

    /// The messages that have come since the last call, in their order.
    func received() async throws -> [Message] {
        try await database.execute(Statement("select pg_notify($1, 'end')", [channel]))
        var messages: [Message] = []
        for await notification in connection.notifications {
            if notification.payload == "end" { return messages }
            messages.append(try await message(notification.payload))
        }
        throw Dropped(payload: "the connection is closed")
    }

    private func message(_ payload: String) async throws -> Message {
        struct Head: Decodable {
            let uid: String
            let nsp: String?
            let type: Int
            let attachmentId: String?
        }
        var text = payload
        let head = try JSONB(payload).decode(Head.self)
        if let id = head.attachmentId {
            let statement = Statement("select payload from \(table) where id::text = $1", [id])
            text = try MessagePack(try await connection.query(statement).scalar(Bytes.self).bytes).json
        }
        let whole = try JSONB(text).decode(Head.self)
        guard head.uid == "emitter", head.type == 3, whole.uid == "emitter", whole.type == 3, whole.nsp == namespace
        else { throw Dropped(payload: payload) }
        return Message(payload: payload, isAttached: head.attachmentId != nil, text: text)
    }
}

extension Database {
    /// A message's packet type, namespace, event with its arguments, and options.
    func packet(_ message: SocketServer.Message) async throws -> String {
        let row = try await query(
            Statement(
                """
                select concat_ws(' ', packet ->> 'type', packet ->> 'nsp', packet -> 'data', $1::jsonb #> '{data,opts}')
                from (select $1::jsonb #> '{data,packet}') as sent(packet)
                """, [JSONB(message.text)]))
        return try row.scalar(String.self)
    }

    /// The table of the adapter, with the rights that the guide asks for.
    func makeAttachments(_ table: String = "public.socket_io_attachments") async throws {
        for statement in [
            "create table \(table) (id bigserial unique, created_at timestamptz default now(), payload bytea)",
            "grant insert, delete on \(table) to errand_owner",
            "grant usage on sequence \(table)_id_seq to errand_owner",
        ] {
            try await execute(Statement(statement))
        }
    }
}
