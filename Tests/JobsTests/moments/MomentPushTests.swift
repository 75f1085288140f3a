import AppTestKit
import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Postgres
import PushKit
import Testing

@testable import Jobs

@Suite("What a moment is, and its push") struct MomentPushTests {
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

    @Test("a photo with a purpose, such as an avatar, makes no moment")
    func avatar() async throws {
        try await withAppDatabase { database, _ in
            let avatar = try await database.submit("'a/1.jpg', owner => 'ben', purpose => 'avatar'")
            try await database.compress(avatar)
            try await database.deliver(avatar)
            try await database.pair("anna", "ben")
            #expect(try await database.state(of: "moments.send('ben', '\(avatar)')") == "ER409")
        }
    }
}
