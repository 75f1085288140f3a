/// The payload of a notification: what the phone shows, and what the app gets with it.
///
/// ```swift
/// let payload = try NotificationPayload(title: "Ada", body: "A new moment", data: ["moment_id": "7"])
/// let push = Push(to: deviceToken, kind: .alert, expiration: expiration, payload: payload.bytes(for: service.route))
/// ```
public struct NotificationPayload: Sendable, Hashable {
    /// What the phone shows. Nil wakes the app, and shows nothing.
    public let alert: LiveActivityPayload.Alert?
    /// What the app gets, beside `aps` at Apple and as `data` at Google.
    public let data: [String: String]
    /// How the phone presents it.
    public let style: Style

    /// - Parameters:
    ///   - title: the first line that the phone shows; without title and body it shows nothing.
    ///   - body: what it shows below.
    ///   - data: what the app gets.
    ///   - style: how the phone presents it.
    /// - Throws: ``MalformedNotification`` for a name in `data` that Apple or Google keep for themselves.
    public init(
        title: String? = nil, body: String? = nil, data: [String: String] = [:], style: Style = Style()
    ) throws(MalformedNotification) {
        if let name = data.keys.sorted().first(where: Self.isReserved) { throw MalformedNotification(name: name) }
        alert = title == nil && body == nil ? nil : .init(title: title ?? "", body: body ?? "")
        self.data = data
        self.style = style
    }

    /// Google's reserved names, and Apple's one.
    static func isReserved(_ name: String) -> Bool {
        ["aps", "from", "gcm", "message_type", "collapse_key"].contains(name) || name.hasPrefix("google")
    }

    /// How a phone presents a notification.
    public struct Style: Sendable, Hashable, Decodable {
        /// Whether it also wakes the app, such as for its widget. Default false.
        public var wakes: Bool
        /// Whether the app's extension at Apple may change it before it is shown. Default false.
        public var isMutable: Bool
        /// Whether it is delivered at once, not when it suits the battery. Default true.
        public var isUrgent: Bool
        /// The number on the app's icon at Apple. Nil leaves it.
        public var badge: Int?
        /// The sound's name at Apple. Nil is silent.
        public var sound: String?
        /// The category at Apple, the click action at Google.
        public var category: String?
        /// The group in which Apple shows it.
        public var thread: String?
        /// The channel at Google. Nil is the app's default.
        public var channel: String?

        /// Shown at once with the default sound, and nothing else.
        public init(
            wakes: Bool = false, isMutable: Bool = false, isUrgent: Bool = true, badge: Int? = nil,
            sound: String? = "default", category: String? = nil, thread: String? = nil, channel: String? = nil
        ) {
            self.wakes = wakes
            self.isMutable = isMutable
            self.isUrgent = isUrgent
            self.badge = badge
            self.sound = sound
            self.category = category
            self.thread = thread
            self.channel = channel
        }

        enum CodingKeys: String, CodingKey {
            case wakes, badge, sound, category, thread, channel
            case isMutable = "is_mutable"
            case isUrgent = "is_urgent"
        }
    }
}

// MARK: - JSON
extension NotificationPayload {
    /// The JSON for ``Push/payload``. Each service takes at most 4,096 bytes.
    public func bytes(for route: PushRoute) -> [UInt8] { Array((route == .fcm ? fcm : apns).utf8) }

    private var apns: String {
        var aps: [String] = []
        if let alert {
            aps.append(#""alert":\#(Self.object(alert))"#)
            if let sound = style.sound { aps.append(#""sound":\#(JSONText.quoted(sound))"#) }
            if let category = style.category { aps.append(#""category":\#(JSONText.quoted(category))"#) }
            if let thread = style.thread { aps.append(#""thread-id":\#(JSONText.quoted(thread))"#) }
            if style.isMutable { aps.append(#""mutable-content":1"#) }
        }
        if let badge = style.badge { aps.append(#""badge":\#(badge)"#) }
        if alert == nil || style.wakes { aps.append(#""content-available":1"#) }
        let rest = JSONText.object(data).dropFirst()
        return #"{"aps":{\#(aps.joined(separator: ","))}"# + (data.isEmpty ? "" : ",") + rest
    }

    /// Google's phones hand a notification to a closed app only when it is tapped. So one that wakes the app is data
    /// alone, which the app shows.
    private var fcm: String {
        guard let alert else { return #"{"data":\#(JSONText.object(data))}"# }
        if style.wakes {
            var shown = ["title": alert.title, "body": alert.body]
            shown["channel"] = style.channel
            return #"{"data":\#(JSONText.object(data.merging(shown) { own, _ in own }))}"#
        }
        var android: [String: String] = [:]
        android["channel_id"] = style.channel
        android["click_action"] = style.category
        let presented = android.isEmpty ? "" : #""android":{"notification":\#(JSONText.object(android))},"#
        return #"{\#(presented)"notification":\#(Self.object(alert)),"data":\#(JSONText.object(data))}"#
    }

    private static func object(_ alert: LiveActivityPayload.Alert) -> String {
        JSONText.object(["title": alert.title, "body": alert.body])
    }
}

/// A notification that no service would take. Its description says what was expected.
public struct MalformedNotification: Error, Sendable, CustomStringConvertible {
    let name: String

    public var description: String {
        "data: expected names other than aps, from, gcm, message_type, collapse_key and google…, got \(name)"
    }
}
