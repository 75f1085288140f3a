import ErrandPush
import ErrandTestKit
import Foundation
import Postgres
import Synchronization

/// A scripted push service that records its pushes.
final class ScriptedPushes: PushService {
    struct Sent: Sendable {
        let push: Push
        /// The field of `aps`.
        func aps(_ name: String) -> String {
            let payload = try? JSONSerialization.jsonObject(with: Data(push.payload)) as? [String: Any]
            return ((payload?["aps"] as? [String: Any])?[name]).map { "\($0)" } ?? ""
        }
        var event: String { aps("event") }
        var timestamp: Int { Int(aps("timestamp")) ?? 0 }
    }

    private let state = Mutex([Sent]())
    private let script: @Sendable (Sent, Int) async throws(PushError) -> Void

    /// - Parameter script: called with each push and its number from 1; an error that it throws is the response.
    init(_ script: @escaping @Sendable (Sent, Int) async throws(PushError) -> Void = { _, _ throws(PushError) in }) {
        self.script = script
    }

    var route: PushRoute { .apns }
    var sent: [Sent] { state.withLock { $0 } }

    func send(_ push: Push, at present: Date, by deadline: ContinuousClock.Instant) async throws(PushError) -> String? {
        let sent = Sent(push: push)
        let number = state.withLock { all in
            all.append(sent)
            return all.count
        }
        try await script(sent, number)
        return push.id.uuidString
    }

    func stop() async {}
}

extension Database {
    /// Starts an activity with an update token. Returns its id.
    func startActivity(
        _ options: String = "token => repeat('ab', 32)", sender: String = "Anna", message: String = "Are you there?"
    ) async throws -> UUID {
        let rows = try await query(
            Statement(
                "select activity_id from activity.start('ben', $1, $2, \(options)) where ok", [sender, message]))
        return try rows.scalar(UUID.self)
    }

    /// Moves an activity and its end job back in time.
    func age(_ activity: UUID, by interval: String) async throws {
        try await execute(
            Statement(
                """
                update activity.activity
                set started_at = started_at - interval '\(interval)', due_at = due_at - interval '\(interval)',
                    ends_at = ends_at - interval '\(interval)'
                where id = '\(activity)'
                """))
        try await execute(
            Statement(
                """
                update errand.job
                set run_at = run_at - interval '\(interval)', not_after = not_after - interval '\(interval)'
                where unique_key = 'activity_end/\(activity.uuidString.lowercased())'
                """))
    }

    /// The activity's state as text.
    func state(of activity: UUID) async throws -> String {
        try await lines("select state, end_reason from activity.activity_status where id = '\(activity)'")[0]
    }

    func changes(of activity: UUID) async throws -> [String] {
        try await lines("select what from activity.change_record where activity_id = '\(activity)' order by id")
    }
}
