import AppTestKit
import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Postgres
import PushKit
import Testing

@testable import Jobs

@Suite("Kinds of notifications") struct ProfileTests {
    private static let order: Statement = """
        select notify.set_profile(
            'order', '{"en": {"title": "{name|Somebody}", "body": "has a parcel for you"}, "fr": {"body": "Un colis"}}',
            '{"thread": "orders", "is_urgent": true}')
        """

    @Test("a profile set by SQL changes what it names and nothing else; pushes that wait follow it")
    func sets() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.execute("select devices.register('ben', 'apns', repeat('17cd', 16), locale => 'pt-BR')")
            try await database.execute(Self.order)
            try await database.execute("select notify.send('ben', profile => 'order')")
            try await database.execute(
                """
                select notify.set_profile(
                    'order', '{"pt": {"title": "Oi", "body": "{who|Alguém} e você"}, "fr": null}',
                    '{"sound": null, "badge": 3, "is_urgent": false, "collapse": "order"}')
                """)
            try await test.drain()
            let apple = try #require(stubs.apple.accepted.first)
            #expect(apple.aps("alert") as? [String: String] == ["title": "Oi", "body": "Alguém e você"])
            #expect(apple.aps("sound") == nil && apple.aps("badge") as? Int == 3)
            #expect(apple.headers["apns-priority"] == "5")
            #expect(
                try await database.lines(
                    """
                    select wakes, is_urgent, sound is null, badge, thread,
                        (select string_agg(key, ',' order by key) from jsonb_object_keys(texts) as key)
                    from notify.profiles where name = 'order'
                    """) == ["false|false|true|3|orders|en,pt"])
            try await database.execute("select notify.send('ben', profile => 'order')")
            #expect(
                try await database.lines("select collapse from notify.message order by created_at desc limit 1") == [
                    "order"
                ])
        }
    }

    @Test(
        "a profile, texts, words or a style that no phone could show is refused, and says what was expected",
        arguments: [
            ("send('ben', profile => 'nobody')", "ER422", "profile: expected one of "),
            ("send('ben', profile => 'order', words => '[]')", "ER422", "words: expected an object with texts"),
            ("send('ben', profile => 'order', words => '{\"name\": 1}')", "ER422", "words: expected an object"),
            (
                "send('ben', profile => 'order', words => jsonb_build_object('name', repeat('x', 4000)))", "ER413",
                "send: expected at most 4096 bytes"
            ),
            ("set_profile('A b')", "ER422", "name: expected a-z, 0-9 and _"),
            ("set_profile('new', '[]')", "ER422", "texts and style: expected objects, got array"),
            ("set_profile('new', '{\"EN\": {}}')", "ER422", "texts: expected languages in small letters"),
            ("set_profile('new', '{\"en\": {\"text\": \"x\"}}')", "ER422", "got other members at 'en'"),
            ("set_profile('new', '{\"en\": {\"title\": \"\"}}')", "ER422", "texts: expected"),
            ("set_profile('new', '{\"en\": {\"title\": 1}}')", "ER422", "texts: expected"),
            (
                "set_profile('new', style => '{\"wakes\": 1}')", "ER422",
                "style: expected a boolean, got number at 'wakes'"
            ),
            ("set_profile('new', style => '{\"loud\": true}')", "ER422", "style: expected one of "),
            ("set_profile('new', style => '{\"badge\": -1}')", "ER422", "style: expected a badge of 0 or more"),
        ])
    func refused(call: String, state: String, says: String) async throws {
        try await withAppDatabase { database, _ in
            try await database.execute(Self.order)
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute(Statement("select notify.\(call)"))
            }
            #expect(error?.sqlState == state && error?.detail.contains(says) == true, "\(error?.detail ?? "")")
            let made = try await database.number("select count(*) from notify.profile where name = 'new'")
            #expect(made == 0)
        }
    }
}
