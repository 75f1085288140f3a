import Foundation

/// One push to one device.
///
/// ```swift
/// let push = Push(
///     to: deviceToken, kind: .alert, expiration: Int64(Date.now.timeIntervalSince1970) + 3_600,
///     payload: Array(#"{"aps":{"alert":"Your order is on its way"}}"#.utf8))
/// ```
public struct Push: Sendable, Hashable {
    /// Apple's push type.
    public enum Kind: String, Sendable, Hashable {
        /// Shown to the person.
        case alert
        /// Wakes the app, and shows nothing.
        case background
        /// Starts, updates or ends a Live Activity: see ``LiveActivityPayload``.
        case liveActivity = "liveactivity"
    }

    /// The device's token: hexadecimal digits at Apple, a registration token at Google. No log line and no error shows
    /// the whole token.
    public var deviceToken: String
    /// Apple's push type.
    public var kind: Kind
    /// 10 delivers at once, 5 when it suits the device's battery. Default 10.
    public var priority: Int
    /// Unix seconds. A push that is not delivered by then is dropped.
    public var expiration: Int64
    /// Of waiting pushes with the same id, the device gets the last one. At most 64 bytes. Default none.
    public var collapseID: String?
    /// The `apns-id`, which Apple's console shows. Google has none.
    public var id: UUID
    /// A JSON object, at most 4,096 bytes: the whole body at Apple, the message without its token at Google. See
    /// ``NotificationPayload``.
    public var payload: [UInt8]

    /// A push to one device. All times are absolute.
    public init(
        to deviceToken: String, kind: Kind, priority: Int = 10, expiration: Int64, collapseID: String? = nil,
        id: UUID = UUID(), payload: [UInt8]
    ) {
        self.deviceToken = deviceToken
        self.kind = kind
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.id = id
        self.payload = payload
    }

    /// What a log line may say of the device: enough to tell two apart.
    var shownToken: String { "\(deviceToken.prefix(6))…" }
}

extension Push: CustomStringConvertible {
    public var description: String { "push \(id) (\(kind.rawValue)) to \(shownToken)" }
}

/// Sends pushes: ``APNsService`` to Apple, ``FCMService`` to Google, ``PushLog`` to the log.
public protocol PushService: Sendable {
    /// Where pushes go.
    var route: PushRoute { get }

    /// Sends a push, and waits for the response.
    ///
    /// - Parameters:
    ///   - push: what to send, and to which device.
    ///   - present: the time by a correct clock, such as the database's. The provider token carries it.
    ///   - deadline: nothing is sent from then on.
    /// - Returns: the service's id of the accepted push, if it has one. Accepted is not delivered.
    /// - Throws: ``PushError`` for any other response, and for none. With code `interrupted` or `timedOut`, the push
    ///   may have been accepted.
    func send(_ push: Push, at present: Date, by deadline: ContinuousClock.Instant) async throws(PushError) -> String?

    /// Closes connections once their pushes have a response.
    func stop() async
}

/// The destination of pushes.
public enum PushRoute: String, Sendable, Hashable {
    /// To Apple.
    case apns
    /// To Google.
    case fcm
    /// To the log, and to no device.
    case log
    /// Nowhere: no credentials are set.
    case none
}
