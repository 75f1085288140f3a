import ErrandPush
import Foundation
import Postgres

/// The push of a delivery, as `notify.begin_v1` and `notify.begin_batch_v1` return it.
struct NotificationPlan {
    let message: UUID
    let device: UUID
    let deviceToken: String
    /// Apple's servers that know the token; nil at Google.
    let environment: String?
    let payload: NotificationPayload
    let collapse: String?
    let expiration: Int64
    /// How long the push may be sent.
    let remaining: Duration
    /// The database's clock.
    let present: Timestamp

    enum Reading {
        case send(NotificationPlan)
        /// There is no such delivery.
        case gone
        /// It has a final result.
        case ended
        /// It is too late.
        case over
        /// The device was removed or retired, or another person is logged in there.
        case noDevice
    }

    static func read(_ row: Row) throws -> Reading {
        let problem: String? = try row.decode(String?.self)
        guard let problem else { return .send(try NotificationPlan(row)) }
        return switch try Problem(problem, from: "notify.begin_v1") {
        case .gone: .gone
        case .ended: .ended
        case .over: .over
        case .noDevice: .noDevice
        }
    }

    private enum Problem: String, FunctionReply {
        case gone, ended, over
        case noDevice = "no device"
    }

    private init(_ row: Row) throws {
        let (
            _, message, device, token, environment, title, body, data, collapse, style, expiration, remaining, present
        ) =
            try row.decode(
                String?.self, UUID.self, UUID.self, String.self, String?.self, String?.self, String?.self, JSONB.self,
                String?.self, JSONB?.self, Int64.self, Int64.self, Timestamp.self)
        self.message = message
        self.device = device
        deviceToken = token
        self.environment = environment
        payload = try NotificationPayload(
            title: title, body: body, data: try data.decode([String: String].self),
            style: try style?.decode(NotificationPayload.Style.self) ?? .init())
        self.collapse = collapse
        self.expiration = expiration
        self.remaining = .milliseconds(remaining)
        self.present = present
    }

    /// The push, ready to be sent to the platform.
    ///
    /// Apple shows a repeated push once, because it has the message's id. Google keeps four collapse keys for a device
    /// at most, so its pushes have one only if the sender asks for it.
    func push(for platform: PushRoute) -> Push {
        let isShown = payload.alert != nil
        let own = platform == .apns && isShown ? message.uuidString.lowercased() : nil
        return Push(
            to: deviceToken, kind: isShown ? .alert : .background, priority: isShown && payload.style.isUrgent ? 10 : 5,
            expiration: expiration,
            collapseID: collapse ?? own, payload: payload.bytes(for: platform))
    }
}
