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
    @Test("M7: a new moment wakes the app at Apple and at Google, and is shown in the language of each device")
    func wakes() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.execute(
                """
                select devices.register('ben', 'apns', repeat('17cd', 16), locale => 'fr_CA'),
                    devices.register('ben', 'fcm', 'dQw4w9WgXcQ:APA91bE', locale => 'de-DE')
                """)
            let call = "select notify.send('ben', profile => 'new_moment', words => $1, data => '{\"moment_id\": 7}')"
            try await database.execute(Statement(call, [JSONB(#"{"name": "{Ada}"}"#)]))
            #expect(try await test.drain().outcomes == [.succeeded, .succeeded])
            let apple = try #require(stubs.apple.accepted.first)
            #expect(
                apple.aps("alert") as? [String: String] == ["title": "{Ada}", "body": "Un nouveau moment pour toi"])
            #expect(apple.aps("content-available") as? Int == 1 && apple.aps("mutable-content") as? Int == 1)
            #expect(apple.headers["apns-push-type"] == "alert" && apple.headers["apns-priority"] == "10")
            #expect(apple.aps("thread-id") as? String == "moments")
            let google = try #require(stubs.google.messages.first?.message)
            #expect(google["notification"] == nil)
            #expect(
                google["data"] as? [String: String]
                    == ["moment_id": "7", "title": "{Ada}", "body": "A new moment for you"])
            #expect((google["android"] as? [String: Any])?["priority"] as? String == "HIGH")
        }
    }

    @Test("a batch has the texts of each device's language, and a text of the call comes first")
    func batch() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.execute(
                """
                select devices.register('u-' || n, 'apns', lpad(to_hex(n), 64, '0'), locale => case n when 1 then 'fr' end)
                from generate_series(1, 101) as n
                """)
            try await database.execute(
                """
                select notify.send(array_agg('u-' || n), body => 'Know thyself', profile => 'daily_quote')
                from generate_series(1, 101) as n
                """)
            try await test.drain()
            let shown = stubs.apple.accepted.compactMap { $0.aps("alert") as? [String: String] }
            #expect(shown.count == 101 && shown.allSatisfy { $0["body"] == "Know thyself" })
            #expect(shown.count { $0["title"] == "Citation du jour" } == 1)
            #expect(shown.count { $0["title"] == "Quote of the day" } == 100)
            #expect(stubs.apple.accepted.allSatisfy { $0.aps("content-available") == nil })
        }
    }

    @Test("a profile set by SQL changes what it names and nothing else; pushes that wait follow it")
    func sets() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.execute("select devices.register('ben', 'apns', repeat('17cd', 16), locale => 'pt-BR')")
            try await database.execute("select notify.send('ben', profile => 'paired')")
            try await database.execute(
                """
                select notify.set_profile(
                    'paired', '{"pt": {"title": "Oi", "body": "{who|Alguém} e você"}, "fr": null}',
                    '{"sound": null, "badge": 3, "is_urgent": false, "collapse": "paired"}')
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
                    from notify.profiles where name = 'paired'
                    """) == ["false|false|true|3|moments|en,pt"])
            try await database.execute("select notify.send('ben', profile => 'paired')")
            #expect(
                try await database.lines("select collapse from notify.message order by created_at desc limit 1") == [
                    "paired"
                ])
        }
    }

    @Test(
        "a profile, texts, words or a style that no phone could show is refused, and says what was expected",
        arguments: [
            ("send('ben', profile => 'nobody')", "ER422", "profile: expected one of daily_quote, event_reveal, "),
            ("send('ben', profile => 'paired', words => '[]')", "ER422", "words: expected an object with texts"),
            ("send('ben', profile => 'paired', words => '{\"name\": 1}')", "ER422", "words: expected an object"),
            (
                "send('ben', profile => 'paired', words => jsonb_build_object('name', repeat('x', 4000)))", "ER413",
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
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute(Statement("select notify.\(call)"))
            }
            #expect(error?.sqlState == state && error?.detail.contains(says) == true, "\(error?.detail ?? "")")
            let made = try await database.number("select count(*) from notify.profile where name = 'new'")
            #expect(made == 0)
        }
    }
}
