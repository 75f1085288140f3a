import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Logging
import Postgres
import PushKit
import Synchronization
import Testing

@testable import Jobs

@Suite("Notifications to devices") struct NotificationTests {
    @Test("M6: a person with an iPhone and an Android phone gets one push on each, with the same content")
    func both() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            try await test.database.registerBoth("ben")
            let sent = try await test.database.number(
                #"select notify.send('ben', 'Ada', 'A "new" moment', '{"moment_id": 7}')"#)
            #expect(sent == 2)
            #expect(try await test.drain().outcomes == [.succeeded, .succeeded])
            let apple = try #require(stubs.apple.accepted.first)
            let google = try #require(stubs.google.messages.first?.message)
            #expect(stubs.apple.accepted.count == 1 && stubs.google.messages.count == 1)
            #expect(apple.aps("alert") as? [String: String] == ["title": "Ada", "body": "A \"new\" moment"])
            #expect(apple.headers["apns-push-type"] == "alert" && apple.headers["apns-priority"] == "10")
            #expect(String(decoding: apple.body, as: UTF8.self).contains(#""moment_id":"7""#))
            #expect(google["notification"] as? [String: String] == ["title": "Ada", "body": "A \"new\" moment"])
            #expect(google["data"] as? [String: String] == ["moment_id": "7"])
            let message = try await test.database.lines("select id from notify.message_status")[0]
            #expect(apple.headers["apns-collapse-id"] == message, "a repeated push is shown once")
            #expect(
                try await test.database.lines(
                    """
                    select platform, state, via, status, service_id is not null, tries
                    from notify.delivery_status order by platform
                    """) == ["apns|accepted|apns|200|true|1", "fcm|accepted|fcm|200|true|1"])
            #expect(try await test.database.lines("select accepted, waiting from notify.message_status") == ["2|0"])
        }
    }

    @Test("without title and body a push wakes the app; collapse and not_after are the service's")
    func background() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            try await test.database.registerBoth("ben")
            try await test.database.execute(
                """
                select notify.send(
                    'ben', data => '{"clear": "all"}', collapse => 'clear', not_after => now() + interval '1 hour')
                """)
            try await test.drain()
            let apple = try #require(stubs.apple.accepted.first)
            #expect(apple.headers["apns-push-type"] == "background" && apple.headers["apns-priority"] == "5")
            #expect(apple.aps("content-available") as? Int == 1 && apple.headers["apns-collapse-id"] == "clear")
            #expect(
                try await test.database.number(
                    "select floor(extract(epoch from not_after))::int8 from notify.message")
                    == Int(apple.headers["apns-expiration"] ?? ""))
            let google = try #require(stubs.google.messages.first?.message)
            #expect(google["notification"] == nil && google["data"] as? [String: String] == ["clear": "all"])
            #expect((google["android"] as? [String: Any])?["collapse_key"] as? String == "clear")
        }
    }

    @Test("a token that a service calls dead is retired with the reason, and gets no further push")
    func tokenGone() async throws {
        let stubs = try await PushStubs(
            atApple: { _ in .status(410, "Unregistered", since: Date() + 1) }, atGoogle: { _ in PushStubs.unregistered }
        )
        try await withNotifications(stubs) { test in
            try await test.database.registerBoth("ben")
            try await test.database.execute("select notify.send('ben', 'Ada')")
            #expect(try await test.drain(within: .seconds(86_400)).outcomes == [.cancelled, .cancelled])
            #expect(
                try await test.database.lines(
                    "select platform, state, status, reason from notify.delivery_status order by platform")
                    == ["apns|token gone|410|Unregistered", "fcm|token gone|404|UNREGISTERED"])
            #expect(
                try await test.database.lines(
                    "select platform, retired_reason from devices.device_status order by platform")
                    == ["apns|410 Unregistered", "fcm|404 UNREGISTERED"])
            #expect(try await test.database.number("select notify.send('ben', 'Ada')") == 0)
            #expect(try await test.database.number("select count(*) from errand.failed") == 0)
        }
    }

    @Test("a token that was registered again since the service called it dead is kept, and tried after growing delays")
    func registeredAgain() async throws {
        let stubs = try await PushStubs(atApple: { _ in .status(410, "Unregistered", since: Date() - 3600) })
        for persons in ["{ben}", "{ben,\((1...100).map { "user-\($0)" }.joined(separator: ","))}"] {
            try await withNotifications(stubs) { test in
                let before = stubs.apple.receipts.count
                try await test.database.execute("select devices.register('ben', 'apns', repeat('ab', 32))")
                try await test.database.execute(Statement("select notify.send($1::text[], 'Ada')", [persons]))
                for sent in 1...4 {
                    try await test.drain()
                    #expect(stubs.apple.receipts.count - before == sent, "\(persons.prefix(9))")
                    try await test.database.execute(
                        Statement("update notify.delivery set retry_at = retry_at - $1 * interval '1 s'", [1 << sent]))
                    try await test.advance(by: .seconds(1 << sent))
                }
                let kept = "select count(*) from devices.device where retired_at is null"
                #expect(try await test.database.number(kept) == 1)
                #expect(try await test.database.lines("select state from notify.delivery_status") == ["waiting"])
            }
        }
    }

    @Test("refusals that wrong settings cause park the service's pushes until they are fixed, and retire no device")
    func misconfigured() async throws {
        let isFixed = Mutex(false)
        let stubs = try await PushStubs(
            atApple: { _ in isFixed.withLock(\.self) ? .accepted : .status(400, "DeviceTokenNotForTopic") },
            atGoogle: { _ in isFixed.withLock(\.self) ? .accepted : PushStubs.mismatched })
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.execute(
                """
                select devices.register('user-' || n, 'apns', lpad(to_hex(n), 64, '0')),
                    devices.register('user-' || n, 'fcm', 'token-' || n), notify.send('user-' || n, 'Ada')
                from generate_series(1, 12) as n
                """)
            let states = """
                select platform, state, count(*), count(*) filter (where retired_at is not null)
                from notify.delivery_status
                join devices.device_status using (platform)
                where device_id = device_status.id
                group by platform, state
                order by platform
                """
            #expect(try await test.drain().outcomes.contains(.parked))
            #expect(try await database.lines(states) == ["apns|waiting|12|0", "fcm|waiting|12|0"])
            let health = try await database.lines(
                "select ok, detail from errand.health() where check_name = 'circuits'")[0]
            #expect(health.hasPrefix("false|"))
            for said in ["400 DeviceTokenNotForTopic for several tokens in a row: expected APNS_TOPIC", "fcm is down"] {
                #expect(health.contains(said), "\(health)")
            }
            // Each minute another job probes the service: the token of one may be invalid all the same.
            for _ in 1...2 {
                try await test.advance(by: .seconds(61))
                let outcomes = try await test.drain().outcomes
                #expect(outcomes == [.parked, .parked], "\(outcomes)")
            }
            #expect(Set(stubs.apple.receipts.suffix(2).map(\.request.token)).count == 2)
            isFixed.withLock { $0 = true }
            try await test.advance(by: .seconds(61))
            #expect(Set(try await test.drain().outcomes) == [.succeeded])
            #expect(try await database.lines(states) == ["apns|accepted|12|0", "fcm|accepted|12|0"])
        }
    }

    @Test(
        "a token that was registered after the time of the response is not retired: the push is sent again a second later"
    )
    func registeredSince() async throws {
        let stubs = try await PushStubs(
            atApple: PushStubs.first(.status(410, "Unregistered", since: Date() - 3_600)))
        try await withNotifications(stubs) { test in
            try await test.database.register("ben", "apns", Self.token)
            try await test.database.execute("select notify.send('ben', 'Ada')")
            // A completion in the handler's own transaction may be counted after the next one.
            let outcomes = try await test.drain(within: .seconds(5)).outcomes
            #expect(Set(outcomes) == [.retried, .succeeded], "\(outcomes)")
            #expect(try await test.database.lines("select state, tries from notify.delivery_status") == ["accepted|2"])
            #expect(try await test.database.number("select count(*) from devices.device where retired_at is null") == 1)
        }
    }

    @Test("a device that logs out, or where another person logs in, gets nothing that waits for the person before")
    func otherPerson() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            try await test.database.register("ben", "fcm", "token-1")
            try await test.database.register("ben", "fcm", "token-2")
            try await test.database.execute("select notify.send('ben', 'For Ben alone')")
            try await test.database.register("anna", "fcm", "token-1")
            try await test.database.execute("select devices.unregister('token-2')")
            #expect(try await test.drain().outcomes == [.cancelled, .cancelled])
            #expect(stubs.google.messages.isEmpty)
            #expect(
                try await test.database.lines("select distinct state, reason from notify.delivery_status")
                    == ["token gone|the device is not registered any more"])
        }
    }

    @Test("429 with Retry-After is retried after that time, and a 500 of Apple's after 15 minutes")
    func retries() async throws {
        let busy = PushResponse.reply(
            429, #"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#, headers: ["retry-after": "90"])
        let stubs = try await PushStubs(
            atApple: PushStubs.first(.status(500, "InternalServerError")), atGoogle: PushStubs.first(busy))
        try await withNotifications(stubs) { test in
            try await test.database.registerBoth("ben")
            try await test.database.execute("select notify.send('ben', 'Ada')")
            #expect(try await test.drain().outcomes == [.retried, .retried])
            #expect(
                try await test.database.lines(
                    "select platform, state, status, reason from notify.delivery_status order by platform")
                    == ["apns|waiting|500|InternalServerError", "fcm|waiting|429|RESOURCE_EXHAUSTED"])
            #expect(
                try await test.database.lines(
                    """
                    select kind, run_at - now() between interval '80 s' and interval '120 s',
                        run_at - now() between interval '14 min' and interval '20 min'
                    from errand.job order by kind
                    """) == ["notification_apns|false|true", "notification_fcm|true|false"])
            #expect(try await test.drain(within: .seconds(1_200)).outcomes == [.succeeded, .succeeded])
            #expect(try await test.database.lines("select accepted from notify.message_status") == ["2"])
        }
    }

    @Test("a push that is refused fails at once, and one that would come too late is not sent again")
    func ends() async throws {
        let stubs = try await PushStubs(
            atApple: PushStubs.first(.status(400, "BadTopic")),
            atGoogle: { _ in .reply(503, "", headers: ["retry-after": "7200"]) })
        try await withNotifications(stubs) { test in
            try await test.database.registerBoth("ben")
            try await test.database.execute("select notify.send('ben', 'Ada', not_after => now() + interval '1 hour')")
            let drained = try await test.drain(within: .seconds(7_200))
            #expect(Set(drained.outcomes) == [.failed, .cancelled] && drained.outcomes.count == 2)
            #expect(
                try await test.database.lines(
                    "select platform, state, status, reason from notify.delivery_status order by platform")
                    == ["apns|refused|400|BadTopic", "fcm|expired|503|without a reason"])
            #expect(try await test.database.number("select count(*) from devices.device where retired_at is null") == 2)
            // After the fix, an operator's retry sends it.
            try await test.database.execute("select errand.retry(array_agg(id), reason => 'fixed') from errand.failed")
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(
                try await test.database.lines("select state, tries from notify.delivery_status order by platform")
                    == ["accepted|2", "expired|1"])
        }
    }

    @Test("without credentials of Google, Apple's pushes go and Google's wait as not_sent, until they are set")
    func noCredentials() async throws {
        let stubs = try await PushStubs()
        let late = LateCredentials(stubs.services.fcm, unset: UnsetPushes("FCM_SERVICE_ACCOUNT"))
        try await withNotifications(stubs, by: PushServices(apns: stubs.services.apns, fcm: late)) { test in
            let database = test.database
            try await database.registerBoth("ben")
            try await database.execute("select notify.send('ben', 'Ada')")
            let states = "select platform, state, via, reason, ended_at is null from notify.delivery_status order by 1"
            #expect(Set(try await test.drain().outcomes) == [.succeeded, .parked])
            #expect(
                try await database.lines(states) == [
                    "apns|accepted|apns||false",
                    "fcm|not_sent|none|no credentials: set FCM_SERVICE_ACCOUNT|true",
                ])
            #expect(
                try await database.lines("select ok, detail from errand.health() where check_name = 'circuits'")
                    == ["false|fcm is down: push: misconfigured: no credentials: set FCM_SERVICE_ACCOUNT"])
            try await test.advance(by: .seconds(61))
            #expect(try await test.drain().outcomes == [.parked])
            late.set()
            try await test.advance(by: .seconds(61))
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await database.lines(states) == ["apns|accepted|apns||false", "fcm|accepted|fcm||false"])
        }
    }

    @Test("a device of Apple's sandbox is left alone by a worker that sends to production, and not retired")
    func environments() async throws {
        let stubs = try await PushStubs(environment: "production")
        try await withNotifications(stubs) { test in
            try await test.database.register("ben", "apns", Self.token, "environment => 'sandbox'")
            try await test.database.execute("select notify.send('ben', 'Ada')")
            #expect(try await test.drain().outcomes == [.cancelled])
            #expect(stubs.apple.receipts.isEmpty)
            #expect(
                try await test.database.lines("select state, reason, ended_at is null from notify.delivery_status")
                    == ["not_sent|the device is of Apple's sandbox, and APNS_SERVER is production|false"])
            #expect(try await test.database.number("select count(*) from devices.device where retired_at is null") == 1)
        }
    }

    @Test("pushes that the log was asked for are accepted, and recorded as such")
    func log() async throws {
        let log = PushLog(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withNotifications(by: PushServices(log)) { test in
            try await test.database.registerBoth("ben")
            try await test.database.execute("select notify.send('ben', 'Ada')")
            try await test.drain()
            #expect(
                try await test.database.lines("select distinct state, via from notify.delivery_status")
                    == ["accepted|log"])
        }
    }

    private static let token = String(repeating: "ab", count: 32)
}

extension Database {
    /// A device at each service.
    fileprivate func registerBoth(_ user: String) async throws {
        try await register(user, "apns", String(repeating: "ab", count: 32))
        try await register(user, "fcm", "token-of-\(user)")
    }
}
