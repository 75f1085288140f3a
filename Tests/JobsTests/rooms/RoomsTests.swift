import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Events for rooms") struct RoomsTests {
    @Test("an event has the adapter's format, reaches its namespace at commit, and is not sent after a rollback")
    func format() async throws {
        try await withAppDatabase { database, configuration in
            let (server, chat) = try await Self.servers(database, configuration)
            try? await database.transaction { transaction in
                try await transaction.execute("select rooms.emit('a', 'lost')")
                throw RolledBack()
            }
            try await database.transaction { transaction in
                try await transaction.execute(
                    #"select rooms.emit(rooms.user_room('42'), 'new_moment', '{"moment_id": "7"}')"#)
                try await transaction.execute("select rooms.emit('all \"ü\"', 'says', '[1, null]', '/chat')")
                try await transaction.execute("select rooms.emit('a', 'ping', null)")
                #expect(try await server.received().isEmpty)
            }
            let messages = try await server.received()
            let options = { (room: String) in #"{"flags": {}, "rooms": ["\#(room)"], "except": []}"# }
            try #require(messages.count == 2)
            #expect(
                try await database.packet(messages[0])
                    == #"2 / ["new_moment", {"moment_id": "7"}] "# + options("user:42"))
            #expect(try await database.packet(messages[1]) == #"2 / ["ping"] "# + options("a"))
            let said = try await chat.received()
            try #require(said.count == 1)
            #expect(try await database.packet(said[0]) == #"2 /chat ["says", [1, null]] "# + options(#"all \"ü\""#))
            await server.close()
            await chat.close()
        }
    }

    @Test("equal events of one transaction all arrive, in their order")
    func equal() async throws {
        try await withAppDatabase { database, configuration in
            let server = try await SocketServer(database, configuration)
            try await database.transaction { transaction in
                for event in ["a", "a", "b", "a"] {
                    try await transaction.execute(Statement("select rooms.emit('r', $1)", [event]))
                }
            }
            let messages = try await server.received()
            var events: [String] = []
            for message in messages { events.append(String(try await database.packet(message).prefix(8))) }
            #expect(events == ["2 / [\"a\"", "2 / [\"a\"", "2 / [\"b\"", "2 / [\"a\""])
            await server.close()
        }
    }

    @Test(
        "a message of 7,999 bytes needs no table, and one of 8,000 does; bytes of UTF-8 count",
        arguments: ["a", "ü", "😀"])
    func size(letter: String) async throws {
        try await withAppDatabase { database, configuration in
            let server = try await SocketServer(database, configuration)
            func emit(_ text: String) async throws {
                try await database.execute(Statement("select rooms.emit('r', 'x', to_jsonb($1::text))", [text]))
            }
            try await emit("")
            let room = 7_999 - (try await server.received().first?.payload.utf8.count ?? 0)
            let letters = room / letter.utf8.count
            let longest =
                String(repeating: letter, count: letters)
                + String(repeating: "z", count: room - letters * letter.utf8.count)
            try await emit(longest)
            let direct = try #require(try await server.received().first)
            #expect(direct.payload.utf8.count == 7_999 && !direct.isAttached)
            let error = await #expect(throws: PostgresError.self) { try await emit(longest + "z") }
            #expect(error?.sqlState == "ER413")
            #expect(error?.detail.contains("public.socket_io_attachments, which does not exist") == true)
            try await database.makeAttachments()
            try await emit(longest + "z")
            let attached = try #require(try await server.received().first)
            #expect(attached.isAttached)
            let (sent, same) = (try await database.packet(attached), try await database.packet(direct))
            #expect(sent == same.replacing(longest, with: longest + "z"))
            await server.close()
        }
    }

    @Test("an attachment has every kind of JSON value, unchanged, and arrives for a user without rights on its table")
    func attachment() async throws {
        try await withAppDatabase { database, configuration in
            try await database.makeAttachments()
            let server = try await SocketServer(database, configuration)
            let data = """
                jsonb_build_object(
                    'kinds', '[null, true, false, 0, -1, 1.5, "", "ä \\" \\\\ \\n", [], {}, {"": {"a": [1]}}]'::jsonb,
                    'many', (select jsonb_agg(n) from generate_series(-70000, 70000, 100) as n),
                    'keys', (select jsonb_object_agg('key ' || n, n / 8.0) from generate_series(1, 100) as n),
                    'texts', (select jsonb_agg(repeat('x', n)) from unnest('{31,32,255,256,20000}'::int[]) as n))
                """
            try await database.transaction { transaction in
                try await transaction.execute("set local role errand_enqueuer")
                try await transaction.execute(Statement("select rooms.emit('r', 'x', \(data))"))
            }
            let message = try #require(try await server.received().first)
            #expect(message.isAttached)
            let isSame = try await database.query(
                Statement("select $1::jsonb #> '{data,packet,data,1}' = \(data)", [JSONB(message.text)])
            ).scalar(Bool.self)
            #expect(isSame)
            // Servers delete rows after 30 s: the time is that of the insert, not of the transaction's start.
            let isNew = "select bool_and(created_at > now() - interval '20 s') from socket_io_attachments"
            #expect(try await database.query(Statement(isNew)).scalar(Bool.self))
            await server.close()
        }
    }

    @Test("a number has the form of its size in MessagePack, and the value that JSON.parse would give it")
    func numbers() async throws {
        try await withAppDatabase { database, _ in
            for (json, expected) in [
                ("127", .integer(127)), ("128", .integer(128)), ("255", .integer(255)), ("256", .integer(256)),
                ("65535", .integer(65535)), ("65536", .integer(65536)), ("4294967295", .integer(4_294_967_295)),
                ("4294967296", .integer(4_294_967_296)), ("9223372036854775807", .integer(.max)),
                ("9223372036854775808", .large(1 << 63)), ("18446744073709551615", .large(.max)),
                ("18446744073709551616", .double(0x1p64)), ("-32", .integer(-32)), ("-33", .integer(-33)),
                ("-128", .integer(-128)), ("-129", .integer(-129)), ("-32768", .integer(-32768)),
                ("-32769", .integer(-32769)), ("-2147483648", .integer(-2_147_483_648)),
                ("-2147483649", .integer(-2_147_483_649)), ("-9223372036854775808", .integer(.min)),
                ("-9223372036854775809", .double(-0x1p63)), ("2.0", .integer(2)), ("0.1", .double(0.1)),
                ("1e308", .double(1e308)), ("-1e400", .double(-.infinity)), ("5e-324", .double(.leastNonzeroMagnitude)),
                ("1e-400", .integer(0)),
            ] as [(String, MessagePack)] {
                let bytes = try await database.query(Statement("select rooms.msgpack('\(json)')")).scalar(Bytes.self)
                #expect(try MessagePack(bytes.bytes) == expected, "\(json)")
                let shortest = [1, 2, 3, 5, 9]
                #expect(shortest.contains(bytes.bytes.count))
            }
        }
    }

    @Test("texts, arrays and maps have the head of their size in MessagePack")
    func sizes() async throws {
        try await withAppDatabase { database, _ in
            for count in [0, 15, 16, 31, 32, 255, 256, 65_535, 65_536] {
                let values = try await database.query(
                    Statement(
                        """
                        select rooms.msgpack(to_jsonb(repeat('z', $1::int4))),
                            rooms.msgpack((select coalesce(jsonb_agg(true), '[]') from generate_series(1, $1))),
                            rooms.msgpack((
                                select coalesce(jsonb_object_agg(n::text, null), '{}')
                                from generate_series(1, $1) as n))
                        """, [count]))
                let (text, array, map) = try values[0].decode(Bytes.self, Bytes.self, Bytes.self)
                #expect(try MessagePack(text.bytes) == .text(String(repeating: "z", count: count)), "\(count)")
                let trues = [MessagePack](repeating: .bool(true), count: count)
                #expect(try MessagePack(array.bytes) == .array(trues), "\(count)")
                let keys = (1...max(1, count)).prefix(count).map { ("\($0)", MessagePack.null) }
                #expect(try MessagePack(map.bytes) == .map(Dictionary(uniqueKeysWithValues: keys)), "\(count)")
            }
        }
    }

    @Test("arguments out of bounds raise ER422, so that no event goes to everyone or to nobody")
    func bounds() async throws {
        try await withAppDatabase { database, configuration in
            try await database.makeAttachments()
            let server = try await SocketServer(database, configuration)
            let reserved = ["connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"]
            for call in reserved.map({ "emit('r', '\($0)')" }) + [
                "emit('', 'x')", "emit(null, 'x')", "emit(repeat('r', 301), 'x')", "emit('r', '')", "emit('r', null)",
                "emit('r', repeat('x', 201))", "emit('r', 'x', namespace => 'chat')",
                "emit('r', 'x', namespace => null)", "emit('r', 'x', namespace => '/' || repeat('n', 53))",
                "emit('r', 'x', jsonb_build_object('__proto__', repeat('x', 8000)))", "user_room('')",
                "user_room(null)", "user_room(repeat('x', 201))", "set_channel_prefix('', 'x')",
                "set_channel_prefix(repeat('x', 62), 'x')", "set_channel_prefix('chat', '')",
                "set_attachment_table('a.b.c', 'x')", "set_attachment_table('', 'x')",
                "set_attachment_table(null, 'x')", "set_attachment_table('errand.job', 'x')",
                "set_attachment_table('rooms.setting', 'x')", "set_attachment_table('pg_catalog.pg_proc', 'x')",
                "set_attachment_table('attachments', '')",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select rooms.\(call)"))
                }
                #expect(error?.sqlState == "ER422", "\(call)")
            }
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select rooms.emit('r', 'x', to_jsonb(repeat('x', 1000000)))")
            }
            #expect(error?.sqlState == "ER413")
            #expect(try await server.received().isEmpty)
            await server.close()
        }
    }

    @Test("code of the attachment table's owner never runs with the rights of errand_owner")
    func trap() async throws {
        let changes = [
            "create trigger t before insert on public.attachment for each row execute function public.trap()",
            "create rule r as on insert to public.attachment do also select public.caught(new.payload)",
            "alter table public.attachment add check (public.caught(payload))",
            "alter table public.attachment add more text default random()::text",
            "create index on public.attachment (public.caught(payload))",
            "create index on public.attachment (id) where public.caught(payload)",
            "alter table public.attachment enable row level security",
        ]
        try await withAppDatabase { database, _ in
            let big = "select rooms.emit('r', 'x', to_jsonb(repeat('x', 8000)))"
            try await database.makeAttachments("public.attachment")
            try await database.execute("select rooms.set_attachment_table('attachment', 'a test')")
            try await database.execute(Statement(big))
            #expect(try await database.number("select count(*) from public.attachment") == 1)
            try await database.execute("truncate public.attachment")
            try await database.execute(
                """
                create function public.caught(payload bytea) returns boolean language plpgsql immutable as $$
                begin raise exception 'caught' using errcode = 'XX000'; end $$
                """)
            try await database.execute(
                """
                create function public.trap() returns trigger language plpgsql as $$
                begin perform public.caught(new.payload); return new; end $$
                """)
            for change in changes {
                // The refusal rolls back the change.
                let error = await #expect(throws: PostgresError.self, "\(change)") {
                    try await database.transaction { transaction in
                        try await transaction.execute(Statement(change))
                        try await transaction.execute(Statement(big))
                    }
                }
                #expect(error?.sqlState == "ER409", "\(change)")
            }
            try await database.execute(Statement(big))
            #expect(try await database.number("select count(*) from public.attachment") == 1)
        }
    }

    @Test("the prefix and the table can be set as the servers have them, and missing rights are named")
    func settings() async throws {
        try await withAppDatabase { database, configuration in
            let big = "select rooms.emit('r', 'x', to_jsonb(repeat('x', 8000)), '/Chat')"
            try await database.execute("create schema \"Api\"")
            try await database.execute("select rooms.set_channel_prefix('Own', 'a test')")
            try await database.execute(#"select rooms.set_attachment_table('"Api".attachments', 'a test')"#)
            let missing = await #expect(throws: PostgresError.self) { try await database.execute(Statement(big)) }
            #expect(missing?.sqlState == "42501")
            try await database.makeAttachments("\"Api\".attachments")
            let refused = await #expect(throws: PostgresError.self) { try await database.execute(Statement(big)) }
            #expect(refused?.sqlState == "42501")
            try await database.execute("grant usage on schema \"Api\" to errand_owner")
            let server = try await SocketServer(
                database, configuration, prefix: "Own", namespace: "/Chat", table: "\"Api\".attachments")
            try await database.execute(Statement(big))
            #expect(try await server.received().map(\.isAttached) == [true])
            #expect(
                try await database.lines("select * from rooms.setting_status") == [#"Own|"Api".attachments"#])
            await server.close()
        }
    }

    private static func servers(
        _ database: Database, _ configuration: PostgresConfiguration
    ) async throws -> (SocketServer, SocketServer) {
        (
            try await SocketServer(database, configuration),
            try await SocketServer(database, configuration, namespace: "/chat")
        )
    }

    private struct RolledBack: Error {}
}

extension SocketServer {
    fileprivate func close() async { await connection.close() }
}
