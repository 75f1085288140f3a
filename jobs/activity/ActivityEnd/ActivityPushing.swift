import Errand
import ErrandPush
import Foundation
import Logging
import Postgres

/// One attempt to send a push for an activity: gets the push from the database, sends it, and records the result
/// together with the completion of the job.
///
/// Each push has a timestamp later than all before it, committed before it is sent, and the phone ignores what is older
/// than the newest it has had. So a duplicate push does no harm: if a worker dies between the response and its record,
/// the next one sends it again.
struct ActivityPushing {
    static let retry = RetryPolicy.exponential(attempts: 30, first: .seconds(1), cap: .seconds(900))

    /// Nothing is sent in the last moment, because it would arrive too late.
    static let lastMoment: Duration = .milliseconds(500)

    let activity: UUID
    /// Whether only the end is sent.
    let ends: Bool
    let pushes: any PushService
    let context: JobContext

    func run() async throws -> Outcome {
        let asked = ContinuousClock.now
        let rows = try await context.database.query(
            Statement(
                """
                select problem, event, device_token, sent_timestamp, expires_at, remaining_ms, present, dismissal, version,
                    alerts, sender, message, content_state, attributes_type, attributes
                from activity.begin_push_v1($1, $2, $3)
                """, [activity, context.id, ends]))
        let plan: ActivityPlan
        switch try ActivityPlan.read(rows) {
        case .send(let read): plan = read
        case .nothing: return try await rest()
        case .gone: return .cancel(reason: "activity \(activity) is gone")
        case .ended: return .cancel(reason: "the activity is over, or about to be")
        case .over: return .cancel(reason: "its 8 hours are over")
        }
        let push = plan.push(of: activity)
        let apnsID: String?
        do throws(PushError) {
            let deadline = asked + plan.remaining - Self.lastMoment
            apnsID = try await pushes.send(push, at: plan.present.date, by: deadline)
        } catch {
            // Stopped in between: the next attempt determines what to send.
            try Task.checkCancellation()
            return try await notAccepted(error, plan, push, left: plan.remaining - (.now - asked))
        }
        return try await accepted(plan, push, apnsID)
    }
}

// MARK: - Results
extension ActivityPushing {
    /// Nothing is to be sent now. New content enqueues the job again.
    private func rest() async throws -> Outcome {
        try await context.transaction { transaction in
            let rows = try await transaction.query(
                Statement("select next, until from activity.next_step_v1($1, $2)", [activity, ends]))
            let (next, until) = try rows[0].decode(String.self, Timestamp?.self)
            switch try Next(next, from: "activity.next_step_v1") {
            case .again: return .snooze(for: .zero)
            case .wait: return until.map(Outcome.snooze(until:)) ?? .done
            case .done, .gone: return .done
            }
        }
    }

    /// What `activity.next_step_v1` and `activity.accepted_v1` return.
    private enum Next: String, FunctionReply { case again, wait, done, gone }

    /// What `activity.token_gone_v1` returns.
    private enum TokenState: String, FunctionReply { case ended, replaced, newer, misconfigured }

    private func accepted(_ plan: ActivityPlan, _ push: Push, _ apnsID: String?) async throws -> Outcome {
        let account = try account(of: plan, push, status: pushes.route == .apns ? 200 : nil, apnsID: apnsID)
        return try await context.transaction { transaction in
            let next = try await transaction.query(
                Statement("select activity.accepted_v1($1, $2)", [activity, account])
            ).scalar(String.self)
            if try Next(next, from: "activity.accepted_v1") == .again { return .snooze(for: .zero) }
            return try .done(["event": plan.event.rawValue, "timestamp": "\(plan.timestamp)"])
        }
    }

    private func notAccepted(
        _ error: PushError, _ plan: ActivityPlan, _ push: Push, left: Duration
    ) async throws -> Outcome {
        let account = try account(of: plan, push, status: error.status, reason: error.reason)
        if pushes.route == .none {
            try await context.database.execute(
                Statement("select activity.not_sent_v1($1, false, $2)", [activity, account]))
        }
        if let down = try await OutboundCircuit.apns.parking(error, in: context) { throw down }
        switch error.code {
        case .expired: return .cancel(reason: "not sent: its 8 hours are over")
        case .tokenGone: return try await tokenGone(error, plan, account, left: left)
        case .refused: return try await refused(error, account)
        default: break
        }
        try await context.database.execute(
            Statement("select activity.not_sent_v1($1, false, $2)", [activity, account]))
        guard let delay = delay(after: error, left: left) else {
            return .cancel(reason: "no time is left for another try: \(error)")
        }
        return .retry(after: delay, error)
    }

    private func delay(after error: PushError, left: Duration) -> Duration? {
        var random = SystemRandomNumberGenerator()
        return PushBackoff.delay(after: error.code, attempt: context.attempt, left: left, using: &random)
    }

    private func tokenGone(
        _ error: PushError, _ plan: ActivityPlan, _ account: JSONB, left: Duration
    ) async throws -> Outcome {
        try await context.transaction { transaction in
            let since = error.since.map { Timestamp($0) }
            let became = try await transaction.query(
                Statement(
                    "select activity.token_gone_v1($1, $2, $3, $4, $5)",
                    [activity, plan.deviceToken, since, account, error.isAmbiguous])
            ).scalar(String.self)
            switch try TokenState(became, from: "activity.token_gone_v1") {
            case .replaced:
                return .retry(after: .zero, reason: "\(error); there is a newer one", cause: "token replaced")
            case .newer:
                // The service may go on calling it dead.
                let reason = "\(error); it was registered again since"
                guard let delay = delay(after: error, left: left) else {
                    return .cancel(reason: "no time is left for another try: \(reason)")
                }
                return .retry(after: delay, reason: reason, cause: "token registered again")
            case .misconfigured:
                let apns = OutboundCircuit.apns
                return apns.misconfigured(error.misconfiguration, at: plan.present, in: context).outcome
            case .ended: return .cancel(reason: "\(error)")
            }
        }
    }

    private func refused(_ error: PushError, _ account: JSONB) async throws -> Outcome {
        context.logger.error("a push was refused for good", metadata: ["error": "\(error)"])
        return try await context.transaction { transaction in
            try await transaction.execute(Statement("select activity.not_sent_v1($1, true, $2)", [activity, account]))
            return .fail(error)
        }
    }

    /// The record of a push, with the columns' names.
    private func account(
        of plan: ActivityPlan, _ push: Push, status: Int?, reason: String? = nil, apnsID: String? = nil
    ) throws -> JSONB {
        let account = try JSONB(
            encoding: Account(
                jobID: context.id, timestamp: plan.timestamp, version: plan.version, status: status,
                event: plan.event.rawValue, via: pushes.route.rawValue, reason: reason, apnsID: apnsID))
        guard pushes.route == .log else { return account }
        // The payload's own bytes: a number that went through a `Double` would change.
        return JSONB(bytes: account.bytes.dropLast() + Array(#","payload":"#.utf8) + push.payload + Array("}".utf8))
    }

    private struct Account: Encodable {
        let jobID: Int64
        let timestamp: Int64
        let version: Int
        let status: Int?
        let event: String
        let via: String
        let reason: String?
        let apnsID: String?

        enum CodingKeys: String, CodingKey {
            case jobID = "job_id"
            case timestamp = "sent_timestamp"
            case version, status, event, via, reason
            case apnsID = "apns_id"
        }
    }
}
