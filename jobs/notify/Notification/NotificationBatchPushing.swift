import Errand
import ErrandPush
import Foundation
import Logging
import Outbound
import Postgres

/// One attempt to send the pushes of a batch: some at once, then their results in one statement, and so on.
///
/// If a worker dies before a statement, the next one sends the pushes of that statement again, and no others. Pushes
/// that have to wait are sent by the same job, once the first of them is due.
struct NotificationBatchPushing {
    /// Few, so that a withdrawn push is not sent, and that fifty jobs fit in the thousand requests that Apple takes at
    /// once.
    static let atOnce = 20
    /// Then the rest of the batch lets others pass, whose pushes are more urgent.
    static let time: Duration = .seconds(2)

    let batch: Int64
    let last: Int64
    let platform: PushRoute
    let service: any PushService
    /// Apple's servers that the service sends to; nil takes all devices.
    let environment: String?
    let circuit: OutboundCircuit
    let context: JobContext

    func run() async throws -> Outcome {
        let start = ContinuousClock.now
        var tried: Int64 = 0
        var isAgain = false
        while true {
            try Task.checkCancellation()
            let asked = ContinuousClock.now
            let rows = try await due(after: tried, again: isAgain)
            guard let latest = rows.last else {
                let left = try await left()
                guard tried == 0, !isAgain, left.waiting == 0, left.refused > 0 else { return left.outcome }
                // An operator has retried the job.
                isAgain = true
                continue
            }
            let results = await withTaskGroup(of: PushResult.self) { group in
                for row in rows { group.addTask { await push(row, asked: asked) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            // Stopped in between: the next attempt sends them.
            try Task.checkCancellation()
            try await record(results)
            tried = latest.delivery
            // After fewer, no push is due.
            if !isAgain, rows.count == Self.atOnce, .now - start >= Self.time { return .snooze(for: .zero) }
        }
    }
}

// MARK: - One push
extension NotificationBatchPushing {
    private func due(after tried: Int64, again: Bool) async throws -> [DuePush] {
        try await context.database.query(
            Statement(
                """
                select problem, message_id, device_id, device_token, environment, title, body, data, collapse,
                    style, expires_at, remaining_ms, present, delivery, tries
                from notify.begin_batch_v1($1, $2, $3, $4, $5::int4)
                """, [batch, last, tried, again, Self.atOnce])
        ).map { row in
            let (delivery, tries) = try row.decode(from: 13, Int64.self, Int.self)
            return DuePush(delivery: delivery, tries: tries, row: row)
        }
    }

    private func push(_ due: DuePush, asked: ContinuousClock.Instant) async -> PushResult {
        let plan: NotificationPlan
        do {
            switch try NotificationPlan.read(due.row) {
            case .send(let read): plan = read
            case .noDevice: return due.ended("token gone", "the device is not registered any more")
            case .over, .ended, .gone: return due.ended("expired", "not sent in time")
            }
        } catch let error as UnexpectedReply {
            return due.waiting("\(error)", for: .seconds(60))
        } catch {
            return due.ended("refused", "\(error)")
        }
        if let wanted = plan.environment, let environment, wanted != environment {
            return due.ended("not_sent", "the device is of Apple's \(wanted), and APNS_SERVER is \(environment)")
        }
        var result = PushResult(delivery: due.delivery, state: "accepted", ended: true, via: service.route.rawValue)
        do throws(PushError) {
            let deadline = asked + plan.remaining - NotificationPushing.lastMoment
            result.serviceID = try await service.send(plan.push(for: platform), at: plan.present.date, by: deadline)
            result.status = [.apns, .fcm].contains(service.route) ? 200 : nil
        } catch {
            result.take(error, plan, left: plan.remaining - (.now - asked), tries: due.tries, platform)
        }
        return result
    }
}

// MARK: - Results
extension NotificationBatchPushing {
    private struct Left {
        let waiting: Int
        let refused: Int
        /// When the next one of those that wait is due.
        let next: Timestamp?

        var outcome: Outcome {
            if waiting > 0, let next { return .snooze(until: next) }
            return refused > 0
                ? .fail(reason: "\(refused) pushes were refused: notify.delivery_status has the reasons") : .done
        }
    }

    private func left() async throws -> Left {
        let (waiting, refused, next) = try await context.database.query(
            Statement("select waiting, refused, next_at from notify.batch_left_v1($1, $2)", [batch, last])
        )[0].decode(Int.self, Int.self, Timestamp?.self)
        return Left(waiting: waiting, refused: refused, next: next)
    }

    /// - Throws: ``Unavailable`` after the record, if the service is down. Then the rest of the batch waits for it.
    private func record(_ results: [PushResult]) async throws {
        let down = results.first(where: \.isParked)?.error
        let parking: Unavailable? = if let down { try await circuit.parking(down, in: context) } else { nil }
        let isMisconfigured = try await context.database.query(
            Statement("select notify.record_batch_v1($1, $2)", [context.id, try JSONB(encoding: results)])
        ).scalar(Bool.self)
        if let refused = results.first(where: { $0.error?.code == .refused })?.error {
            context.logger.error("pushes were refused for good", metadata: ["error": "\(refused)"])
        }
        if let parking { throw parking }
        if isMisconfigured, let error = results.first(where: \.isAmbiguous)?.error,
            let parking = try await circuit.parking(error.misconfiguration, in: context)
        {
            throw parking
        }
    }
}

/// A delivery to try.
private struct DuePush: Sendable {
    let delivery: Int64
    let tries: Int
    let row: Row

    func ended(_ state: String, _ reason: String) -> PushResult {
        PushResult(delivery: delivery, state: state, ended: true, reason: reason)
    }

    func waiting(_ reason: String, for delay: Duration) -> PushResult {
        var result = PushResult(delivery: delivery, state: "waiting", ended: false, reason: reason)
        result.retryMilliseconds = delay.components.seconds * 1_000
        return result
    }
}

/// The record of a result, with the names that `notify.record_batch_v1` reads.
private struct PushResult: Encodable, Sendable {
    let delivery: Int64
    var state: String
    var ended: Bool
    /// Nil if nothing was given to the service.
    var via: String?
    var status: Int?
    var reason: String?
    var serviceID: String?
    var isParked = false
    var isAmbiguous = false
    var retryMilliseconds: Int64?
    /// Of a dead token.
    var device: UUID?
    var token: String?
    var since: Double?
    var said: String?
    /// Not recorded.
    var error: PushError?

    init(delivery: Int64, state: String, ended: Bool, via: String? = nil, reason: String? = nil) {
        self.delivery = delivery
        self.state = state
        self.ended = ended
        self.via = via
        self.reason = reason
    }

    enum CodingKeys: String, CodingKey {
        case delivery, state, ended, via, status, reason, device, token, since, said
        case serviceID = "service_id"
        case isParked = "is_parked"
        case isAmbiguous = "is_ambiguous"
        case retryMilliseconds = "retry_ms"
    }

    /// Decides what follows from a push that was not accepted.
    mutating func take(
        _ error: PushError, _ plan: NotificationPlan, left: Duration, tries: Int, _ platform: PushRoute
    ) {
        self.error = error
        (status, reason) = (error.status, error.reason)
        if error.isUnreachable || error.fault == .configuration {
            // It waits for credentials, or until the service is fixed or reachable.
            (state, ended, isParked) = (via == PushRoute.none.rawValue ? "not_sent" : "waiting", false, true)
            return
        }
        switch error.code {
        case .expired: state = "expired"
        case .refused: state = "refused"
        case .tokenGone:
            state = "token gone"
            (device, token, said) = (plan.device, plan.deviceToken, error.said)
            isAmbiguous = error.isAmbiguous
            // A token that was registered after the push began is valid again.
            since = (error.since ?? plan.present.date).timeIntervalSince1970
            // If it was registered again since.
            retryMilliseconds = delay(after: error, left: left, tries: tries, platform) ?? left.wholeMilliseconds
        default:
            guard let delay = delay(after: error, left: left, tries: tries, platform) else {
                (state, reason) = ("expired", "no time is left for another try: \(error)")
                return
            }
            (state, ended, retryMilliseconds) = ("waiting", false, delay)
        }
    }

    /// In milliseconds; nil if no time is left.
    private func delay(after error: PushError, left: Duration, tries: Int, _ platform: PushRoute) -> Int64? {
        var random = SystemRandomNumberGenerator()
        return PushBackoff.delay(
            after: error.code, attempt: tries + 1, left: left, by: platform, asked: error.retryAfter, using: &random
        )?.wholeMilliseconds
    }
}
