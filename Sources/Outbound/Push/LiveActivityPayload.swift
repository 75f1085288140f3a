import Foundation

/// What a push says to a Live Activity, as the phone reads it: the `aps` dictionary.
package struct LiveActivityPayload: Sendable, Hashable {
    package enum Event: String, Sendable, Hashable {
        case start, update, end
    }

    /// What the phone shows and sounds for it.
    package struct Alert: Sendable, Hashable {
        package var title: String
        package var body: String

        package init(title: String, body: String) {
            self.title = title
            self.body = body
        }
    }

    /// What an activity is started with.
    package struct Attributes: Sendable, Hashable {
        /// The app's name for their type.
        package var type: String
        /// A JSON object, passed on as it is.
        package var json: [UInt8]

        package init(type: String, json: [UInt8]) {
            self.type = type
            self.json = json
        }
    }

    package var event: Event
    /// Unix seconds. The phone ignores what is older than the newest that it has had.
    package var timestamp: Int64
    /// A JSON object in the form that the app decodes, passed on as it is: a number that went through a `Double` would be
    /// another one.
    package var contentState: [UInt8]
    /// Needed for a start.
    package var attributes: Attributes?
    /// Needed for a start.
    package var alert: Alert?
    /// When an activity that has ended leaves the lock screen, in unix seconds; nil leaves that to the phone: 4 hours.
    package var dismissal: Int64?

    package init(
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

    /// The whole as JSON. Apple takes at most 4096 bytes.
    package var bytes: [UInt8] {
        var fields = [
            #""timestamp":\#(timestamp)"#, #""event":"\#(event.rawValue)""#,
            #""content-state":\#(String(decoding: contentState, as: UTF8.self))"#,
        ]
        if let attributes {
            fields.append(#""attributes-type":\#(Self.quoted(attributes.type))"#)
            fields.append(#""attributes":\#(String(decoding: attributes.json, as: UTF8.self))"#)
        }
        if let alert {
            fields.append(
                #""alert":{"title":\#(Self.quoted(alert.title)),"body":\#(Self.quoted(alert.body)),"sound":"default"}"#)
        }
        if let dismissal { fields.append(#""dismissal-date":\#(dismissal)"#) }
        return Array(#"{"aps":{\#(fields.joined(separator: ","))}}"#.utf8)
    }

    /// A text as JSON has it: control characters, quotes and backslashes escaped.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
