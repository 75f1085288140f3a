/// The payload of a notification: what the phone shows, and what the app gets with it.
///
/// ```swift
/// let payload = try NotificationPayload(title: "Ada", body: "A new moment", data: ["moment_id": "7"])
/// let push = Push(to: deviceToken, kind: .alert, expiration: expiration, payload: payload.bytes(for: service.route))
/// ```
public struct NotificationPayload: Sendable, Hashable {
    /// What the phone shows, with the default sound. Nil wakes the app, and shows nothing.
    public let alert: LiveActivityPayload.Alert?
    /// What the app gets, beside `aps` at Apple and as `data` at Google.
    public let data: [String: String]

    /// - Parameters:
    ///   - title: the first line that the phone shows; without title and body it shows nothing.
    ///   - body: what it shows below.
    ///   - data: what the app gets.
    /// - Throws: ``MalformedNotification`` for a name in `data` that Apple or Google keep for themselves.
    public init(
        title: String? = nil, body: String? = nil, data: [String: String] = [:]
    ) throws(MalformedNotification) {
        if let name = data.keys.sorted().first(where: Self.isReserved) { throw MalformedNotification(name: name) }
        alert = title == nil && body == nil ? nil : .init(title: title ?? "", body: body ?? "")
        self.data = data
    }

    /// Google's reserved names, and Apple's one.
    static func isReserved(_ name: String) -> Bool {
        ["aps", "from", "gcm", "message_type", "collapse_key"].contains(name) || name.hasPrefix("google")
    }

    /// The JSON for ``Push/payload``. Each service takes at most 4,096 bytes.
    public func bytes(for route: PushRoute) -> [UInt8] { Array((route == .fcm ? fcm : apns).utf8) }

    private var apns: String {
        let shown =
            alert.map { #""alert":\#(Self.object($0)),"sound":"default""# } ?? #""content-available":1"#
        let rest = JSONText.object(data).dropFirst()
        return #"{"aps":{\#(shown)}"# + (data.isEmpty ? "" : ",") + rest
    }

    private var fcm: String {
        let shown = alert.map { #""notification":\#(Self.object($0)),"# } ?? ""
        return #"{\#(shown)"data":\#(JSONText.object(data))}"#
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
