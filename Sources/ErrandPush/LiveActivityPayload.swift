import Foundation

/// The payload of a push to a Live Activity: the `aps` dictionary.
public struct LiveActivityPayload: Sendable, Hashable {
    /// What the push does to the activity.
    public enum Event: String, Sendable, Hashable {
        case start, update, end
    }

    /// What the phone shows, with the default sound.
    public struct Alert: Sendable, Hashable {
        public var title: String
        public var body: String

        public init(title: String, body: String) {
            self.title = title
            self.body = body
        }
    }

    /// The static data of an activity, needed for a start.
    public struct Attributes: Sendable, Hashable {
        /// The name of the app's `ActivityAttributes` type.
        public var type: String
        /// A JSON object, sent unchanged.
        public var json: [UInt8]

        public init(type: String, json: [UInt8]) {
            self.type = type
            self.json = json
        }
    }

    /// What the push does to the activity.
    public var event: Event
    /// Unix seconds. The phone ignores a push that is older than the newest one it got.
    public var timestamp: Int64
    /// A JSON object in the form that the app decodes, sent unchanged.
    public var contentState: [UInt8]
    /// Needed for a start.
    public var attributes: Attributes?
    /// Needed for a start.
    public var alert: Alert?
    /// When an ended activity leaves the lock screen, in Unix seconds. Default nil: after 4 hours.
    public var dismissal: Int64?

    public init(
        _ event: Event, timestamp: Int64, contentState: [UInt8], attributes: Attributes? = nil, alert: Alert? = nil,
        dismissal: Int64? = nil
    ) {
        self.event = event
        self.timestamp = timestamp
        self.contentState = contentState
        self.attributes = attributes
        self.alert = alert
        self.dismissal = dismissal
    }

    /// The JSON for ``Push/payload``. Apple takes at most 4,096 bytes.
    public var bytes: [UInt8] {
        var fields = [
            #""timestamp":\#(timestamp)"#, #""event":"\#(event.rawValue)""#,
            #""content-state":\#(String(decoding: contentState, as: UTF8.self))"#,
        ]
        if let attributes {
            fields.append(#""attributes-type":\#(JSONText.quoted(attributes.type))"#)
            fields.append(#""attributes":\#(String(decoding: attributes.json, as: UTF8.self))"#)
        }
        if let alert {
            fields.append(
                #""alert":{"title":\#(JSONText.quoted(alert.title)),"body":\#(JSONText.quoted(alert.body)),"sound":"default"}"#
            )
        }
        if let dismissal { fields.append(#""dismissal-date":\#(dismissal)"#) }
        return Array(#"{"aps":{\#(fields.joined(separator: ","))}}"#.utf8)
    }
}
