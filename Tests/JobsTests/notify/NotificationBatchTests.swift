import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Postgres
import PushKit
import Synchronization
import Testing

@testable import Jobs

@Suite("Notifications to many persons", .serialized) struct NotificationBatchTests {
    @Test("Q4: 400 persons in one call: each of their devices gets one push, and four jobs send them")
    func many() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            try await test.database.registerMany(400)
            #expect(try await test.database.sendToMany(400) == 400)
            #expect(
                try await test.database.lines(
                    "select kind, count(*), min(priority) from errand.job group by kind order by kind")
                    == ["notification_apns_batch|2|3", "notification_fcm_batch|2|3"])
            #expect(
                try await test.database.lines("select distinct state, job_state from notify.delivery_status")
                    == ["waiting|available"])
            // A batch is snoozed after 2 s, which let others pass.
            let outcomes = Set(try await test.drain().outcomes)
            #expect(outcomes.subtracting([.snoozed]) == [.succeeded])
            let tokens = (stubs.apple.accepted + stubs.google.messages).map(\.token)
            #expect(tokens.count == 400 && Set(tokens).count == 400)
            #expect(stubs.apple.accepted.count == 200)
            #expect(
                try await test.database.lines(
                    """
                    select platform, state, status, tries, count(*) from notify.delivery group by 1, 2, 3, 4 order by 1
                    """
                )
                    == ["apns|accepted|200|1|200", "fcm|accepted|200|1|200"])
            #expect(try await test.database.lines("select accepted, waiting from notify.message_status") == ["400|0"])
        }
    }

    @Test("in a batch each device has a result of its own: dead, refused, too many for now, and the rest accepted")
    func results() async throws {
        let busy = PushResponse.reply(
            429, #"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#, headers: ["retry-after": "90"])
        let invalid = PushResponse.reply(400, #"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#)
        let first = PushStubs.first(busy), refused = PushStubs.first(invalid)
        let stubs = try await PushStubs(atGoogle: { request in
            switch request.token {
            case "token-7": PushStubs.unregistered
            case "token-8": first(request)
            case "token-9": refused(request)
            default: .accepted
            }
        })
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.registerMany(101, platforms: "{fcm}")
            _ = try await database.sendToMany(101)
            try await database.execute("select devices.unregister('token-10')")
            // The second batch has one push. The first one waits for the retry, and may be snoozed after 2 s before.
            #expect(Set(try await test.drain().outcomes) == [.snoozed, .succeeded])
            let states = """
                select user_id, state, status, tries from notify.delivery
                where state <> 'accepted' or user_id in ('user-8', 'user-9') order by length(user_id), user_id
                """
            #expect(
                try await database.lines(states) == [
                    "user-7|token gone|404|1", "user-8|waiting|429|1", "user-9|refused|400|1", "user-10|token gone||1",
                ])
            #expect(
                try await database.lines(
                    """
                    select state, run_at - now() between interval '80 s' and interval '120 s' from errand.job
                    """) == ["scheduled|true"])
            #expect(
                try await database.lines("select user_id from devices.device_status where retired_reason like '404 %'")
                    == ["user-7"])
            // It is due: the batch sends that one, and fails for the refused one.
            try await database.execute("update notify.delivery set retry_at = now() where retry_at is not null")
            #expect(try await test.drain(within: .seconds(120)).outcomes == [.failed])
            // After the fix, an operator's retry sends that one, and nothing twice.
            try await database.execute("select errand.retry(array_agg(id), reason => 'fixed') from errand.failed")
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(
                try await database.lines(states) == [
                    "user-7|token gone|404|1", "user-8|accepted|200|2", "user-9|accepted|200|2",
                    "user-10|token gone||1",
                ])
            #expect(stubs.google.messages.count == 99 && Set(stubs.google.messages.map(\.token)).count == 99)
        }
    }

    @Test("a batch waits if wrong settings have all its tokens refused; one such token among accepted ones is retired")
    func misconfigured() async throws {
        let isFixed = Mutex(false)
        let stubs = try await PushStubs(atApple: { request in
            isFixed.withLock(\.self) && !request.token.hasSuffix("07") ? .accepted : .status(400, "BadDeviceToken")
        })
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.registerMany(21, platforms: "{apns}")
            _ = try await database.sendToMany(101)
            #expect(try await test.drain().outcomes.contains(.parked))
            let states = """
                select state, count(*), count(*) filter (where retired_at is not null)
                from notify.delivery
                join devices.device on device.id = device_id
                group by state
                order by state
                """
            #expect(try await database.lines(states) == ["waiting|21|0"])
            isFixed.withLock { $0 = true }
            try await test.advance(by: .seconds(61))
            try await test.drain()
            #expect(try await database.lines(states) == ["accepted|20|0", "token gone|1|1"])
        }
    }

    @Test("without credentials the batches of that service park, and are sent once they are set")
    func noCredentials() async throws {
        let stubs = try await PushStubs()
        let late = LateCredentials(stubs.services.fcm, unset: UnsetPushes("FCM_SERVICE_ACCOUNT"))
        try await withNotifications(stubs, by: PushServices(apns: stubs.services.apns, fcm: late)) { test in
            let database = test.database
            try await database.registerMany(150)
            _ = try await database.sendToMany(150)
            #expect(Set(try await test.drain().outcomes).subtracting([.snoozed]) == [.succeeded, .parked])
            #expect(
                try await database.lines(
                    """
                    select platform, state, reason, max(tries), count(*)
                    from notify.delivery
                    group by 1, 2, 3
                    order by 1, 2
                    """
                )
                    == [
                        "apns|accepted||1|75", "fcm|not_sent|no credentials: set FCM_SERVICE_ACCOUNT|0|20",
                        "fcm|waiting||0|55",
                    ])
            late.set()
            try await test.advance(by: .seconds(61))
            // A slow batch is snoozed, also the one that probes the service.
            #expect(Set(try await test.drain().outcomes).subtracting([.snoozed]) == [.succeeded])
            #expect(try await database.lines("select accepted, waiting from notify.message_status") == ["150|0"])
            #expect(Set(stubs.google.messages.map(\.token)).count == 75 && stubs.google.messages.count == 75)
        }
    }

    @Test("a worker that dies within a batch has at most 20 pushes sent again")
    func dies() async throws {
        let pushes = StallingPushes(after: 50)
        try await withNotifications(by: PushServices(pushes)) { test in
            try await test.database.registerMany(101, platforms: "{fcm}")
            _ = try await test.database.sendToMany(101)
            let (batch, last) = try await test.database.query(
                "select batch, max(id) from notify.delivery group by batch order by batch limit 1"
            )[0].decode(Int64.self, Int64.self)
            let job = NotificationFCMBatch(batch: batch, last: last)
            let run = try await test.run(NotificationFCMBatchHandler(pushes: .init(pushes)), job, deadline: .seconds(2))
            #expect(run.outcome == nil)
            let recorded = try await test.database.number(
                "select count(*) from notify.delivery where state = 'accepted'")
            // On a busy machine, fewer than the stalled ones have begun at the deadline.
            let begun = pushes.counts.count
            #expect([0, 20, 40].contains(recorded) && (0...20).contains(begun - recorded))
            pushes.recover()
            try await test.drain()
            #expect(
                try await test.database.lines("select state, count(*) from notify.delivery group by 1")
                    == ["accepted|101"])
            let counts = pushes.counts.values
            #expect(counts.count == 101 && counts.filter { $0 == 2 }.count == begun - recorded)
            #expect(counts.max() == (begun > recorded ? 2 : 1))
        }
    }

    @Test("Q4: what is withdrawn is not sent, neither of a batch nor alone; other notifications are")
    func withdraws() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.registerMany(150)
            _ = try await database.sendToMany(150, collapse: "order-42")
            for collapse in ["order-42", "news"] {
                try await database.execute(
                    Statement("select notify.send('user-1', 'Ada', collapse => $1)", [collapse]))
            }
            #expect(
                try await database.lines(
                    """
                    select notify.withdraw(user_id, 'order-42')
                    from unnest('{user-1,user-2,user-1,nobody}'::text[]) as user_id
                    """
                )
                    == ["2", "1", "0", "0"])
            let drained = try await test.drain()
            #expect(Set(drained.outcomes).subtracting([.snoozed]) == [.succeeded, .cancelled], "\(drained)")
            #expect(
                try await database.lines(
                    """
                    select user_id, state, ended_at is null
                    from notify.delivery
                    where user_id in ('user-1', 'user-2')
                    """
                )
                .sorted() == [
                    "user-1|accepted|false", "user-1|withdrawn|false", "user-1|withdrawn|false",
                    "user-2|withdrawn|false",
                ])
            #expect((stubs.apple.accepted + stubs.google.messages).count == 149)
            for call in ["'', 'x'", "null, 'x'", "'ben', null", "'ben', ''", "'ben', 'a b'"] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select notify.withdraw(\(call))"))
                }
                #expect(error?.sqlState == "ER422" && error?.detail.contains("withdraw: ") == true, "\(call)")
            }
        }
    }
}

/// Accepts some pushes, then none until it has recovered.
private final class StallingPushes: PushService {
    private let limit: Int
    private let state = Mutex((counts: [String: Int](), isStalled: true))

    init(after limit: Int) { self.limit = limit }

    var route: PushRoute { .log }
    /// How often each device has got a push.
    var counts: [String: Int] { state.withLock(\.counts) }

    func recover() { state.withLock { $0.isStalled = false } }

    func send(_ push: Push, at present: Date, by deadline: ContinuousClock.Instant) async throws(PushError) -> String? {
        let stalls = state.withLock { state in
            state.counts[push.deviceToken, default: 0] += 1
            return state.isStalled && state.counts.count > limit
        }
        if stalls {
            // Until the attempt is stopped.
            do { try await Task.sleep(for: .seconds(60)) } catch { throw PushError(.interrupted, reason: "stopped") }
        }
        return nil
    }

    func stop() async {}
}

extension Database {
    /// Devices of `user-1` to `user-N`, each at one of the services.
    fileprivate func registerMany(_ count: Int, platforms: String = "{apns,fcm}") async throws {
        try await execute(
            Statement(
                """
                select devices.register('user-' || n, platform, case platform when 'apns' then lpad(to_hex(n), 64, '0')
                    else 'token-' || n end)
                from generate_series(1, $1::int4) as n
                cross join lateral (
                    select ($2::text::text[])[1 + n % cardinality($2::text::text[])]
                ) as chosen(platform)
                """, [count, platforms]))
    }

    /// Returns the number of devices.
    fileprivate func sendToMany(_ count: Int, collapse: String? = nil) async throws -> Int {
        try await query(
            Statement(
                """
                select notify.send(
                    array(select 'user-' || n from generate_series(1, $1::int4) as n), 'Ada', collapse => $2)
                """, [count, collapse])
        ).scalar(Int.self)
    }
}
