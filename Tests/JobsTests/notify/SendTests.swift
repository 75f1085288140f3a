import AppTestKit
import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Notifications in SQL") struct SendTests {
    @Test("each device of each person gets one job, which has nothing but the delivery's number")
    func enqueues() async throws {
        try await withAppDatabase { database, _ in
            try await database.register("ben", "apns", String(repeating: "ab", count: 32))
            try await database.register("ben", "fcm", "token-1")
            try await database.register("anna", "fcm", "token-2")
            let data = #"{"moment_id": 7, "is_new": true, "name": "Ada"}"#
            let devices = try await database.number(
                "select notify.send('{ben,ben,carl}'::text[], 'Ada', 'A new moment', '\(data)')")
            #expect(devices == 2)
            #expect(
                try await database.lines(
                    """
                    select kind, payload = jsonb_build_object('delivery', delivery.id), queue, priority,
                        job.not_after = delivery.not_after, delivery.not_after - delivery.created_at
                    from errand.job
                    join notify.delivery on unique_key = 'notification/' || delivery.id
                    order by kind
                    """) == [
                        "notification_apns|true|pushes|2|true|1 day", "notification_fcm|true|pushes|2|true|1 day",
                    ])
            #expect(
                try await database.lines("select title, data, devices, waiting, accepted from notify.message_status")
                    == [#"Ada|{"name": "Ada", "is_new": "true", "moment_id": "7"}|2|2|0"#])
            // After the rollback, nothing is left.
            await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("select notify.send('ben', 'Ada')")
                    try await transaction.execute("select 1 / 0")
                }
            }
            #expect(try await database.number("select count(*) from errand.job") == 2)
        }
    }

    @Test("a key sends once for each person and 30 days, whether or not there was a device, also from many sessions")
    func once() async throws {
        try await withAppDatabase { database, _ in
            try await database.register("ben", "fcm", "token-1")
            let send = "select notify.send('{ben,anna}'::text[], 'Ada', once => 'moment/7')"
            let sums = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await database.number(send) } }
                return try await group.reduce(0, +)
            }
            #expect(sums == 1)
            try await database.register("anna", "fcm", "token-2")
            #expect(try await database.number(send) == 0)
            #expect(try await database.number("select notify.send('ben', 'Ada', once => 'moment/8')") == 1)
            try await database.execute("update notify.once set used_at = used_at - interval '30 days'")
            #expect(try await database.number(send) == 2)
        }
    }

    @Test("what no service takes is refused at the call, with what was expected")
    func refuses() async throws {
        try await withAppDatabase { database, _ in
            try await database.register("ben", "fcm", "token-1")
            for (arguments, state, expected) in [
                ("null::text[], 'x'", "ER422", "user_ids: expected an array, got null"),
                ("'{ben,NULL}'::text[], 'x'", "ER422", "user_id: expected 1 to 200 characters, got null"),
                (
                    "array(select 'u' || n from generate_series(1, 10001) as n), 'x'", "ER422",
                    "user_ids: expected at most 10000, got 10001"
                ),
                ("'ben', data => '[1]'", "ER422", "data: expected an object, got array"),
                (
                    #"'ben', data => '{"a": {"b": 1}}'"#, "ER422",
                    "data: expected texts, numbers and booleans as values, got object at 'a'"
                ),
                (
                    #"'ben', data => '{"a": null}'"#, "ER422",
                    "data: expected texts, numbers and booleans as values, got null at 'a'"
                ),
                ("'ben', ''", "ER422", "title and body: expected a text or null, got an empty text"),
                (
                    "'ben', 'x', collapse => repeat('a', 65)", "ER422",
                    "collapse: expected 1 to 64 printable ASCII characters without blanks, got 65 bytes"
                ),
                ("'ben', 'x', not_after => 'infinity'", "ER422", "not_after: expected a time within 28 days"),
                ("'ben', 'x', not_after => now()", "ER422", "not_after: expected a time within 28 days"),
                ("'ben', 'x', once => ''", "ER422", "once: expected 1 to 200 characters, got 0"),
                (
                    "'ben', repeat('ü', 3000)", "ER413",
                    "expected at most 4096 bytes of title, body and data as JSON, got 6058"
                ),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select notify.send(\(arguments))"))
                }
                #expect(error?.sqlState == state && error?.detail.contains("send: \(expected)") == true, "\(arguments)")
            }
            #expect(try await database.number("select count(*) from notify.message") == 0)
        }
    }

    @Test("the call refuses the same names as the payload")
    func names() async throws {
        try await withAppDatabase { database, _ in
            for name in ["aps", "from", "gcm", "message_type", "collapse_key", "google.x", "from2", "moment_id"] {
                let isTaken = (try? NotificationPayload(data: [name: "1"])) != nil
                let taken = try? await database.number(#"select notify.send('ben', data => '{"\#(name)": 1}')"#)
                #expect((taken != nil) == isTaken, "\(name)")
            }
        }
    }

    @Test("the size that the call computes is the size of the payload that is sent to Apple, and Google's is smaller")
    func sizes() async throws {
        try await withAppDatabase { database, _ in
            let texts = ["A", "é \"quoted\" \\ \n\t\r", "\u{1}\u{8}\u{c}\u{7f}🙂", String(repeating: "/", count: 50)]
            for (index, text) in texts.enumerated() {
                for title in [text, nil] {
                    let payload = try NotificationPayload(
                        title: title, body: title, data: ["a\(index)": text, "b": "2"])
                    let size = payload.bytes(for: .apns).count
                    #expect(payload.bytes(for: .fcm).count <= size)
                    // With this much more, it is one byte too long.
                    for rest in [4_096 - size, 4_097 - size] {
                        let call = Statement(
                            """
                            select notify.check_size(
                                't', $1, $1, jsonb_build_object($2::text, $3::text, 'b', '2' || repeat('x', $4::int4)))
                            """, [title, "a\(index)", text, rest])
                        var state: String?
                        do {
                            try await database.execute(call)
                        } catch let error as PostgresError {
                            state = error.sqlState
                        }
                        #expect(state == (rest + size > 4_096 ? "ER413" : nil), "\(text)")
                    }
                }
            }
        }
    }

    @Test("what is too late expires, and after 30 days all of it is deleted")
    func cleansUp() async throws {
        try await withAppQueue { test in
            let database = test.database
            try await database.register("ben", "fcm", "token-1")
            for _ in 1...2 { try await database.execute("select notify.send('ben', 'Ada', once => random()::text)") }
            try await database.execute(
                """
                update notify.delivery set not_after = now() - interval '2 minutes', reason = 'QUOTA_EXCEEDED'
                where id = (select min(id) from notify.delivery)
                """)
            #expect(try await test.run("notification_cleanup").state == "succeeded")
            #expect(
                try await database.lines(
                    "select state, reason, ended_at is null from notify.delivery_status order by id")
                    == ["expired|not sent in time: QUOTA_EXCEEDED|false", "waiting||true"])
            for table in ["message set created_at = created_at", "once set used_at = used_at"] {
                try await database.execute(Statement("update notify.\(table) - interval '30 days'"))
            }
            #expect(try await test.run("notification_cleanup").state == "succeeded")
            for table in ["message", "delivery", "once"] {
                #expect(try await database.number("select count(*) from notify.\(table)") == 0, "\(table)")
            }
        }
    }

    @Test("a person's data is exported and erased, and what others got stays")
    func erases() async throws {
        try await withAppDatabase { database, _ in
            try await database.register("ben", "fcm", "token-1")
            try await database.register("anna", "fcm", "token-2")
            try await database.execute("select notify.send('ben', 'To Ben', once => 'k')")
            try await database.execute("select notify.send('{ben,anna}'::text[], 'To both')")
            #expect(
                try await database.lines(
                    "select one ->> 'title' from jsonb_array_elements(notify.export_person('ben') -> 'notifications') as one"
                )
                    == ["To Ben", "To both"])
            #expect(try await database.number("select notify.erase_person('ben')") == 4)
            #expect(try await database.number("select notify.erase_person('ben')") == 0)
            #expect(try await database.lines("select notify.export_person('ben')") == ["{}"])
            #expect(try await database.lines("select title, devices from notify.message_status") == ["To both|1"])
        }
    }
}
