import Errand
import ErrandPush
import Foundation
import Postgres

/// The push to send for an activity, as `activity.begin_push_v1` returns it.
struct ActivityPlan {
    let event: LiveActivityPayload.Event
    let deviceToken: String
    let timestamp: Int64
    let expiration: Int64
    /// How long until its 8 hours are over.
    let remaining: Duration
    /// The database's clock.
    let present: Timestamp
    let dismissal: Int64?
    let version: Int
    let alert: LiveActivityPayload.Alert?
    let contentState: JSONB
    let attributes: LiveActivityPayload.Attributes?

    enum Reading {
        case send(ActivityPlan)
        /// There is nothing to send now.
        case nothing
        case gone
        case ended
        case over
    }

    static func read(_ rows: Rows) throws -> Reading {
        guard let problem = try rows.scalar(String?.self) else { return .send(try ActivityPlan(rows[0])) }
        return switch try Problem(problem, from: "activity.begin_push_v1") {
        case .nothing: .nothing
        case .gone: .gone
        case .ended: .ended
        case .over: .over
        }
    }

    private enum Problem: String, FunctionReply { case nothing, gone, ended, over }

    private init(_ row: Row) throws {
        let (
            _, word, token, timestamp, expiration, remaining, present, dismissal, version, alerts, sender, message,
            content, type, attributes
        ) = try row.decode(
            String?.self, String.self, String.self, Int64.self, Int64.self, Int64.self, Timestamp.self, Int64?.self,
            Int.self, Bool.self, String.self, String.self, JSONB.self, String.self, JSONB.self)
        guard let event = LiveActivityPayload.Event(rawValue: word) else {
            throw UnexpectedReply("activity.begin_push_v1", expected: "start, update or end", came: word)
        }
        self.event = event
        deviceToken = token
        self.timestamp = timestamp
        self.expiration = expiration
        self.remaining = .milliseconds(remaining)
        self.present = present
        self.dismissal = dismissal
        self.version = version
        alert = alerts ? .init(title: sender, body: message) : nil
        contentState = content
        self.attributes = event == .start ? .init(type: type, json: attributes.bytes) : nil
    }

    /// The push, ready to be sent.
    func push(of activity: UUID) -> Push {
        let payload = LiveActivityPayload(
            event, timestamp: timestamp, contentState: contentState.bytes, attributes: attributes, alert: alert,
            dismissal: dismissal)
        return Push(
            to: deviceToken, kind: .liveActivity, expiration: expiration,
            // A start that waits for a phone that is off starts one activity, however often it was sent.
            collapseID: event == .start ? activity.uuidString.lowercased() : nil, payload: payload.bytes)
    }
}
