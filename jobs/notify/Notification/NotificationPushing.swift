import Errand
import ErrandPush
import Foundation
import Logging
import Postgres

/// One attempt to send a notification to a device: gets the push from the database, sends it, and records the result
/// together with the completion of the job.
///
/// If a worker dies between the response and its record, the next one sends the push again.
struct NotificationPushing {
    /// Nothing is sent in the last moment, because it would arrive too late.
    static let lastMoment: Duration = .milliseconds(500)

    let delivery: Int64
    let platform: PushRoute
    let service: any PushService
    /// Apple's servers that the service sends to; nil takes all devices.
    let environment: String?
    let circuit: OutboundCircuit
    let context: JobContext

    static func policy(for circuit: OutboundCircuit) -> JobPolicy {
        JobPolicy(
            queue: "pushes", deadline: .seconds(60),
            retry: .exponential(attempts: 200, first: .seconds(1), cap: .seconds(900)), circuits: [circuit.name])
    }

    func run() async throws -> Outcome {
        let asked = ContinuousClock.now
        let rows = try await context.database.query(
            Statement(
                """
                select problem, message_id, device_id, device_token, environment, title, body, data, collapse,
                    style, expires_at, remaining_ms, present
                from notify.begin_v1($1)
                """, [delivery]))
        let plan: NotificationPlan
        do {
            switch try NotificationPlan.read(rows[0]) {
            case .send(let read): plan = read
            case .gone: return .cancel(reason: "delivery \(delivery) is gone")
            case .ended: return .cancel(reason: "it has a final result")
            case .over: return try await end(.cancel(reason: "not sent in time"), as: "expired")
            case .noDevice:
                return try await end(.cancel(reason: "the device is not registered any more"), as: "token gone")
            }
        } catch let error as MalformedNotification {
            return try await end(.fail(error), as: "refused")
        }
        if let wanted = plan.environment, let environment, wanted != environment {
            let reason = "the device is of Apple's \(wanted), and APNS_SERVER is \(environment)"
            return try await end(.cancel(reason: reason), as: "not_sent")
        }
        let serviceID: String?
        do throws(PushError) {
            let deadline = asked + plan.remaining - Self.lastMoment
            serviceID = try await service.send(plan.push(for: platform), at: plan.present.date, by: deadline)
        } catch {
            // Stopped in between: the next attempt sends it.
            try Task.checkCancellation()
            return try await notAccepted(error, plan, left: plan.remaining - (.now - asked))
        }
        let isSent = [PushRoute.apns, .fcm].contains(service.route)
        let account = Account(context.id, via: service.route, status: isSent ? 200 : nil, serviceID: serviceID)
        return try await end(.done, as: "accepted", account)
    }
}

// MARK: - Results
extension NotificationPushing {
    private func notAccepted(_ error: PushError, _ plan: NotificationPlan, left: Duration) async throws -> Outcome {
        let account = Account(context.id, via: service.route, status: error.status, reason: error.reason)
        if let down = try await circuit.parking(error, in: context) {
            // It waits for credentials, or until the service is fixed or reachable.
            try await context.database.execute(try record(service.route == .none ? "not_sent" : "waiting", account))
            throw down
        }
        switch error.code {
        case .expired: return try await end(.cancel(reason: "not sent in time"), as: "expired", account)
        case .tokenGone: return try await tokenGone(error, plan, account, left: left)
        case .refused:
            context.logger.error("a push was refused for good", metadata: ["error": "\(error)"])
            return try await end(.fail(error), as: "refused", account)
        default: break
        }
        guard let delay = delay(after: error, left: left) else {
            return try await end(.cancel(reason: "no time is left for another try: \(error)"), as: "expired", account)
        }
        try await context.database.execute(try record("waiting", account))
        return .retry(after: delay, error)
    }

    private func delay(after error: PushError, left: Duration) -> Duration? {
        var random = SystemRandomNumberGenerator()
        return PushBackoff.delay(
            after: error.code, attempt: context.attempt, left: left, by: platform, asked: error.retryAfter,
            using: &random)
    }

    private func tokenGone(
        _ error: PushError, _ plan: NotificationPlan, _ account: Account, left: Duration
    ) async throws -> Outcome {
        let ambiguous = error.isAmbiguous ? context.id : nil
        return try await context.transaction { transaction in
            // A token that was registered after the push began is valid again.
            let since = error.since.map { Timestamp($0) } ?? plan.present
            let became = try await transaction.query(
                Statement(
                    "select devices.retire_v1($1, $2, $3, $4, $5)",
                    [plan.device, plan.deviceToken, since, error.said, ambiguous])
            ).scalar(String.self)
            switch try TokenState(became, from: "devices.retire_v1") {
            case .newer:
                // The service may go on calling it dead.
                let reason = "\(error); it was registered again since"
                guard let delay = delay(after: error, left: left) else {
                    try await transaction.execute(try record("expired", account, isFinal: true))
                    return .cancel(reason: "no time is left for another try: \(reason)")
                }
                try await transaction.execute(try record("waiting", account))
                return .retry(after: delay, reason: reason, cause: "token registered again")
            case .misconfigured:
                try await transaction.execute(try record("waiting", account))
                try await transaction.execute(Statement("select notify.reopen_v1($1)", [platform.rawValue]))
                return circuit.misconfigured(error.misconfiguration, at: plan.present, in: context).outcome
            case .retired, .gone:
                try await transaction.execute(try record("token gone", account, isFinal: true))
                return .cancel(reason: "\(error)")
            }
        }
    }

    /// What `devices.retire_v1` returns.
    private enum TokenState: String, FunctionReply { case retired, newer, gone, misconfigured }

    /// Records a final result, and completes the job with it.
    private func end(_ outcome: Outcome, as state: String, _ account: Account? = nil) async throws -> Outcome {
        var account = account ?? Account(context.id)
        if account.reason == nil, case .cancel(let reason) = outcome { account.reason = reason }
        if account.reason == nil, case .fail(let reason, _) = outcome { account.reason = reason }
        let complete = account
        return try await context.transaction { transaction in
            try await transaction.execute(try record(state, complete, isFinal: true))
            return outcome
        }
    }

    private func record(_ state: String, _ account: Account, isFinal: Bool = false) throws -> Statement {
        Statement("select notify.record_v1($1, $2, $3, $4)", [delivery, state, isFinal, try JSONB(encoding: account)])
    }

    /// The record of a result, with the columns' names.
    private struct Account: Encodable {
        let jobID: Int64
        /// Nil if nothing was given to the service.
        let via: String?
        let status: Int?
        var reason: String?
        let serviceID: String?

        init(_ jobID: Int64, via: PushRoute? = nil, status: Int? = nil, reason: String? = nil, serviceID: String? = nil)
        {
            self.jobID = jobID
            self.via = via?.rawValue
            self.status = status
            self.reason = reason
            self.serviceID = serviceID
        }

        enum CodingKeys: String, CodingKey {
            case via, status, reason
            case jobID = "job_id"
            case serviceID = "service_id"
        }
    }
}
