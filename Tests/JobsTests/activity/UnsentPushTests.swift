import AppTestKit
import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Logging
import Postgres
import Synchronization
import Testing

@testable import Jobs

@Suite("Pushes without a key") struct UnsentPushTests {
    @Test("an unsent push is recorded once, its job waits, health has the reason, and with a key it is sent")
    func waitsForKey() async throws {
        let pushes = LateKey()
        try await withAppQueue([ActivityEndHandler(pushes: pushes), ActivityPushHandler(pushes: pushes)]) { test in
            let database = test.database
            let activity = try await database.startActivity()
            try await database.execute(Statement("select activity.end_now($1)", [activity]))
            for _ in 1...3 {
                // A probe that ends while its circuit is being released is repeated a second later.
                #expect(Set(try await test.drain().outcomes) == [.parked])
                #expect(
                    try await database.lines("select event, outcome, via, reason from activity.push_record")
                        == ["end|not_sent|none|no credentials: set APNS_KEY and its companions"])
                #expect(
                    try await database.lines("select ok, detail from errand.health() where check_name = 'circuits'")
                        == ["false|apns is down: push: misconfigured: no credentials: set APNS_KEY and its companions"])
                #expect(
                    try await database.lines(
                        """
                        select value from errand.metrics()
                        where name = 'errand_circuit_closed' and labels ->> 'circuit' = 'apns'
                        """) == ["0"])
                #expect(try await database.lines("select state, ended_at from activity.activity") == ["ending|"])
                try await test.advance(by: .seconds(61))
            }
            pushes.setKey()
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await database.state(of: activity) == "ended|ended by a push")
            #expect(
                try await database.lines("select outcome, via from activity.push_record order by id")
                    == ["not_sent|none", "accepted|apns"])
        }
    }

    @Test("pushes that the log was asked for are accepted, and recorded as such")
    func log() async throws {
        let pushes = PushLog(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await withAppQueue([ActivityEndHandler(pushes: pushes)]) { test in
            let activity = try await test.database.startActivity()
            try await test.database.execute(Statement("select activity.end_now($1)", [activity]))
            try await test.drain()
            #expect(
                try await test.database.lines("select event, outcome, via from activity.push_record")
                    == ["end|accepted|log"])
        }
    }
}

/// A push service whose key is set while it runs.
private final class LateKey: PushService {
    private let hasKey = Mutex(false)
    private let pushes = ScriptedPushes()

    var route: PushRoute { hasKey.withLock { $0 } ? .apns : .none }

    func setKey() { hasKey.withLock { $0 = true } }

    func send(_ push: Push, at present: Date, by deadline: ContinuousClock.Instant) async throws(PushError) -> String? {
        guard route == .apns else { return try await UnsetPushes().send(push, at: present, by: deadline) }
        return try await pushes.send(push, at: present, by: deadline)
    }

    func stop() async {}
}
