import AppTestKit
import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Postgres
import Synchronization
import Testing

@testable import Jobs

@Suite("Ending Live Activities") struct ActivityEndTests {
    @Test(
        "A1: nothing is sent before it is due, then one end: with its expiration at the 8 hours, and the job has succeeded"
    )
    func ends() async throws {
        try await withActivities { test, pushes in
            let database = test.database
            let activity = try await database.startActivity()
            try await drain(test, as: [])
            try await database.age(activity, by: "7 hours 59 minutes")
            try await drain(test, as: ["succeeded"])
            let sent = try #require(pushes.sent.first)
            #expect(pushes.sent.count == 1 && sent.event == "end" && sent.push.kind == .liveActivity)
            #expect(sent.push.deviceToken == String(repeating: "ab", count: 32))
            #expect(sent.aps("dismissal-date") == "\(sent.timestamp)")
            #expect(
                try await database.number("select floor(extract(epoch from ends_at))::int8 from activity.activity")
                    == Int(sent.push.expiration))
            #expect(try await database.state(of: activity) == "ended|ended by a push")
            #expect(try await database.changes(of: activity) == ["started", "ending", "ended"])
            #expect(
                try await database.lines("select event, outcome, via, status from activity.push_record")
                    == ["end|accepted|apns|200"])
            #expect(try await database.number("select count(*) from errand.job") == 0)
        }
    }

    @Test("A1: after 8 hours nothing is sent, even if content waits")
    func never() async throws {
        try await withActivities { test, pushes in
            let database = test.database
            let activity = try await database.startActivity()
            let other = try await database.startActivity()
            try await database.execute(Statement("select activity.update($1, 'x')", [other]))
            for one in [activity, other] { try await database.age(one, by: "8 hours 1 second") }
            // A job that is claimed because its guard and its deadline were changed by hand.
            try await database.execute(
                "update errand.job set not_after = null, guard = null where kind = 'activity_end'")
            let drained = try await test.drain()
            #expect(Set(drained.outcomes) == [.cancelled])
            #expect(pushes.sent.isEmpty)
        }
    }

    @Test("A2: start with sender and preview, update and end: each in order, with timestamps that only grow")
    func flow() async throws {
        try await withActivities { test, pushes in
            let database = test.database
            let activity = try await database.startActivity("start_token => repeat('cd', 32)")
            try await test.drain()
            // Content before the token waits for the token. Of two contents, the newer one is sent.
            try await database.execute(Statement("select activity.update($1, 'One')", [activity]))
            try await database.execute(Statement("select activity.update($1, 'Two', alert => true)", [activity]))
            try await drain(test, as: [])
            try await database.execute(Statement("select activity.set_token($1, repeat('ef', 32))", [activity]))
            try await test.drain()
            try await database.execute(
                Statement(
                    #"select activity.end_now($1, content_state => '{"at": 795233919.123456789}', dismiss_after => '60 s')"#,
                    [activity]))
            try await test.drain()
            let sent = pushes.sent
            #expect(sent.map(\.event) == ["start", "update", "end"])
            let start = try #require(sent.first)
            let attributes = start.aps("attributes")
            #expect(attributes.contains("Anna") && attributes.contains(activity.uuidString.lowercased()))
            #expect(start.aps("content-state").contains("Are you there?") && start.aps("alert").contains("Anna"))
            #expect(start.aps("attributes-type") == "MessageAttributes")
            #expect(start.push.deviceToken == String(repeating: "cd", count: 32))
            #expect(start.push.collapseID == activity.uuidString.lowercased())
            #expect(sent[1].aps("content-state").contains("Two") && sent[1].aps("alert").contains("Two"))
            #expect(sent[2].push.deviceToken == String(repeating: "ef", count: 32))
            // A number passes unchanged: 17 digits are more than a Double has.
            #expect(String(decoding: sent[2].push.payload, as: UTF8.self).contains("795233919.123456789"))
            #expect(Int(sent[2].aps("dismissal-date")) == sent[2].timestamp + 60)
            #expect(zip(sent, sent.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
            #expect(
                try await database.changes(of: activity) == [
                    "started", "start sent", "updated", "updated", "token set", "update sent", "ending", "ended",
                ])
        }
    }

    @Test("a token that arrives while the end waits is used immediately; without one nothing is sent")
    func waitsForToken() async throws {
        try await withActivities { test, pushes in
            let database = test.database
            let activity = try await database.startActivity("start_token => repeat('cd', 32)")
            try await test.drain()
            try await database.execute(Statement("select activity.end_now($1)", [activity]))
            try await drain(test, as: [])
            #expect(pushes.sent.map(\.event) == ["start"])
            try await database.execute(Statement("select activity.set_token($1, repeat('ef', 32))", [activity]))
            try await drain(test, as: ["succeeded"])
            #expect(pushes.sent.map(\.event) == ["start", "end"])
        }
    }

    @Test(
        "A3: a dead token ends the activity at once: deleted, no retry, no job left",
        arguments: [(410, "Unregistered"), (410, "ExpiredToken"), (400, "BadDeviceToken")], ["end", "update"])
    func tokenGone(reply: (status: Int, reason: String), event: String) async throws {
        let pushes = ScriptedPushes { _, _ throws(PushError) in
            throw PushError(.tokenGone, status: reply.status, reason: reply.reason)
        }
        try await withActivities(pushes) { test, _ in
            let database = test.database
            let activity = try await database.startActivity()
            if event == "end" {
                try await database.age(activity, by: "7 hours 59 minutes")
            } else {
                try await database.execute(Statement("select activity.update($1, 'x')", [activity]))
            }
            try await drain(
                test, within: .seconds(8 * 3600), as: event == "end" ? ["cancelled"] : ["cancelled", "cancelled"])
            #expect(pushes.sent.count == 1)
            #expect(try await database.state(of: activity) == "ended|token gone: \(reply.reason)")
            #expect(try await database.number("select count(*) from activity.activity where token is not null") == 0)
            #expect(try await database.number("select count(*) from errand.job") == 0)
            #expect(try await database.number("select count(*) from errand.failed") == 0)
        }
    }

    @Test("refusals that wrong settings cause end four activities, and the others wait until the settings are fixed")
    func misconfigured() async throws {
        let isFixed = Mutex(false)
        let pushes = ScriptedPushes { _, _ throws(PushError) in
            if isFixed.withLock(\.self) { return }
            throw PushError(.tokenGone, status: 400, reason: "BadDeviceToken")
        }
        try await withActivities(pushes) { test, _ in
            for _ in 1...7 {
                let activity = try await test.database.startActivity()
                try await test.database.execute(Statement("select activity.update($1, 'x')", [activity]))
            }
            // Of each that ended, the push and the end.
            try await drain(test, as: Array(repeating: "cancelled", count: 8))
            let states = "select state, count(*) from activity.activity group by state order by state"
            #expect(try await test.database.lines(states) == ["ended|4", "live|3"])
            #expect(
                try await test.database.lines(
                    """
                    select ok, detail like 'apns is down: %APNS_SERVER%'
                    from errand.health()
                    where check_name = 'circuits'
                    """) == ["false|true"])
            isFixed.withLock { $0 = true }
            try await test.advance(by: .seconds(61))
            try await drain(test, as: Array(repeating: "succeeded", count: 3))
            #expect(try await test.database.lines(states) == ["ended|4", "live|3"])
        }
    }

    @Test("A3: a token that was replaced, or registered again, since it died is none that is dead: the newest is used")
    func newerToken() async throws {
        let database = Mutex<Database?>(nil)
        let pushes = ScriptedPushes { sent, number throws(PushError) in
            guard number <= 2 else { return }
            // The app reports a new token during the response. Then the service reports an old expiry of it.
            if number == 1, let database = database.withLock({ $0 }) {
                _ = try? await database.query(
                    "select activity.set_token(id, repeat('ef', 32)) from activity.activity_status")
            }
            throw PushError(
                .tokenGone, status: 410, reason: "Unregistered", since: number == 1 ? nil : Date() - 3600)
        }
        try await withActivities(pushes) { test, _ in
            database.withLock { $0 = test.database }
            let activity = try await test.database.startActivity()
            try await test.database.age(activity, by: "7 hours 59 minutes")
            try await drain(test, as: [])
            #expect(pushes.sent.map(\.push.deviceToken.first) == ["a", "e"])
            // Apple would go on calling it dead: the next one comes a second later.
            try await drain(test, within: .seconds(20), as: ["succeeded"])
            #expect(pushes.sent.map(\.push.deviceToken.first) == ["a", "e", "e"])
            #expect(zip(pushes.sent, pushes.sent.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        }
        database.withLock { $0 = nil }
    }

    @Test("a push that is refused for good fails with the reason, and once it is fixed one call ends the activity")
    func refused() async throws {
        let pushes = ScriptedPushes { _, number throws(PushError) in
            if number == 1 { throw PushError(.refused, status: 400, reason: "BadTopic") }
        }
        try await withActivities(pushes) { test, _ in
            let activity = try await test.database.startActivity()
            try await test.database.age(activity, by: "7 hours 59 minutes")
            try await drain(test, within: .seconds(300), as: ["failed"])
            #expect(try await test.database.state(of: activity) == "failed|end refused: BadTopic")
            try await test.database.execute(Statement("select activity.end_now($1)", [activity]))
            try await drain(test, as: ["succeeded"])
            #expect(try await test.database.state(of: activity) == "ended|ended by a push")
        }
    }

    @Test("A3: a service that fails for a while is tried again within the last minute, and never after it")
    func triesAgain() async throws {
        for (failures, reason) in [(4, "ended by a push"), (100, nil)] as [(Int, String?)] {
            let pushes = ScriptedPushes { _, number throws(PushError) in
                if number <= failures { throw PushError(.unavailable, status: 503, reason: "ServiceUnavailable") }
            }
            try await withActivities(pushes) { test, _ in
                let activity = try await test.database.startActivity()
                try await test.database.age(activity, by: "7 hours 59 minutes")
                if reason != nil {
                    try await drain(test, within: .seconds(59), as: ["succeeded"])
                    #expect(pushes.sent.count == 5)
                } else {
                    // The attempts don't advance the activity's own clock, so the activity is moved with them.
                    try await test.drain()
                    try await test.database.age(activity, by: "58 seconds")
                    try await test.drain()
                    try await test.database.age(activity, by: "2 seconds")
                    try await test.drain(within: .seconds(60))
                    #expect(pushes.sent.count <= 2)
                }
                #expect(try await test.database.number("select count(*) from errand.failed") == 0)
                #expect(
                    try await test.database.number(
                        "select count(*) from activity.push_record where outcome = 'put off'")
                        == pushes.sent.count - (reason == nil ? 0 : 1))
            }
        }
    }

    @Test(
        "keys that are wrong, and a service that can't be reached, hold all jobs and spend no attempt",
        arguments: [PushError.Code.misconfigured, .unreachable])
    func holds(code: PushError.Code) async throws {
        let isBroken = Mutex(true)
        let pushes = ScriptedPushes { _, _ throws(PushError) in
            if isBroken.withLock({ $0 }) { throw PushError(code, reason: "InvalidProviderToken") }
        }
        try await withActivities(pushes) { test, _ in
            for _ in 0..<20 {
                let activity = try await test.database.startActivity()
                try await test.database.age(activity, by: "7 hours 59 minutes")
            }
            try await test.drain()
            // On a busy machine, one of them may be available already, as a probe of the service.
            #expect(
                try await test.database.number(
                    "select count(*) from errand.job where state in ('parked', 'available') and attempt = 0") == 20)
            // Failures that are written at the same moment are not all counted: then the next ones open the circuit,
            // once maintenance has released what was parked for it.
            let down = "select count(*) from errand.circuits where name = 'apns' and state <> 'closed'"
            for _ in 0..<50 where try await test.database.number(down) == 0 {
                try await test.database.execute("select errand_internal.promote(1000, '-infinity')")
                try await test.database.execute("select errand_internal.release_parked()")
                try await test.drain(within: .seconds(2))
            }
            #expect(try await test.database.number(down) == 1)
            isBroken.withLock { $0 = false }
            try await test.database.execute("select errand.circuit_close('apns')")
            #expect(
                try await test.database.becomesEmpty { try await test.drain(within: .seconds(2)) })
            #expect(try await test.database.number("select count(*) from activity.push_record") == 20)
        }
    }

    @Test("A1: a worker that dies between the response and its record sends once more, with a later timestamp")
    func diesBetween() async throws {
        try await withActivities { test, pushes in
            let activity = try await test.database.startActivity()
            let lost = try await test.run(
                ActivityEndHandler(pushes: pushes), ActivityEnd(activity: activity), interruptedBy: .leaseLost)
            #expect(lost.isRefused || lost.error != nil)
            try await test.database.execute("delete from errand.job where unique_key is null")
            try await test.database.age(activity, by: "7 hours 59 minutes")
            try await drain(test, as: ["succeeded"])
            let timestamps = pushes.sent.map(\.timestamp)
            #expect(timestamps == timestamps.sorted() && Set(timestamps).count == timestamps.count)
            #expect(try await test.database.number("select count(*) from activity.push_record") == 1)
        }
    }

    @Test("A4: a demo works like any activity: DEMO, a placeholder, an update, and an end within seconds")
    func demo() async throws {
        try await withActivities { test, pushes in
            try await test.database.execute("select activity.start_demo(ends_in => '2 seconds')")
            try await test.database.execute(
                "select activity.update(id, 'Still here') from activity.activity_status where sender = 'DEMO'")
            try await test.drain(within: .seconds(3))
            #expect(pushes.sent.map(\.event) == ["update", "end"])
            #expect(try await test.database.lines("select state from activity.activity_status") == ["ended"])
        }
    }

    /// Runs all due jobs, and expects that this many jobs finish, in these states.
    private func drain(
        _ test: TestQueue, within: Duration = .zero, as expected: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        // From the history: a job that its handler's own transaction completes may finish before a drain counts it.
        let ended = "select state from errand.history union all select 'failed' from errand.failed order by 1"
        let before = try await test.database.lines(ended)
        try await test.drain(within: within)
        let after = try await test.database.lines(ended)
        #expect(after == (before + expected).sorted(), sourceLocation: sourceLocation)
    }

    /// Runs `body` with a queue that runs both jobs.
    private func withActivities(
        _ pushes: ScriptedPushes = ScriptedPushes(), _ body: (TestQueue, ScriptedPushes) async throws -> Void
    ) async throws {
        try await withAppQueue([ActivityEndHandler(pushes: pushes), ActivityPushHandler(pushes: pushes)]) {
            try await body($0, pushes)
        }
    }
}

extension Database {
    /// Runs `step` until no job is left; false if that takes too long.
    fileprivate func becomesEmpty(_ step: () async throws -> Void) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(30) {
            try await step()
            if try await number("select count(*) from errand.job") == 0 { return true }
            try await execute("select errand_internal.promote(1000, '-infinity')")
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }
}
