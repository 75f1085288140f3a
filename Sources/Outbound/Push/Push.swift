import Foundation

/// One push to one device, ready to be sent.
package struct Push: Sendable, Hashable {
    /// What kind of push it is, in Apple's word for it.
    package enum Kind: String, Sendable, Hashable {
        case alert
        case background
        case liveActivity = "liveactivity"
    }

    /// Hex digits. It names a device: it is in no log and in no error.
    package var deviceToken: String
    package var kind: Kind
    /// 10 is at once, 5 when it suits the device's battery.
    package var priority: Int
    /// Unix seconds: who hasn't it by then never gets it.
    package var expiration: Int64
    /// Of pushes with the same one that wait for a device, the last is delivered. At most 64 bytes.
    package var collapseID: String?
    /// Names it, for whoever looks for it at Apple's.
    package var id: UUID
    /// JSON.
    package var payload: [UInt8]

    package init(
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
    package var description: String { "push \(id) (\(kind.rawValue)) to \(shownToken)" }
}

/// Brings pushes to their devices' makers.
package protocol PushService: Sendable {
    /// Where they go, in the word of the records.
    var route: PushRoute { get }

    /// Sends one, and waits for the answer.
    ///
    /// - Parameters:
    ///   - present: the time by a clock that is right, such as the database's: what the push is signed with goes by it.
    ///   - deadline: when it is of no use any more. Nothing leaves from then on.
    /// - Returns: the service's name for it, where it has one. It was accepted, which isn't to say that it was shown.
    /// - Throws: ``PushError`` for every other answer, and for none. What was sent may have been accepted all the same where
    ///   its code is `interrupted` or `timedOut`.
    func send(_ push: Push, at present: Date, by deadline: ContinuousClock.Instant) async throws(PushError) -> String?

    /// Lets the connections go.
    func stop() async
}

/// Where a push goes.
package enum PushRoute: String, Sendable, Hashable {
    case apns
    /// To the log and no device, as a setting asks.
    case log
    /// Nowhere: no credentials are set.
    case none
}
