/// The FCM server and the service account that sends.
///
/// ```swift
/// let account = try FCMServiceAccount(json: text)
/// let service = try FCMService(FCMConfiguration(account: account))
/// ```
public struct FCMConfiguration: Sendable {
    let address: PushAddress
    /// Whose project the devices belong to.
    public var account: FCMServiceAccount
    /// The path of a PEM file with certificate authorities, trusted beside the system's. Default none.
    public var authorities: String?
    /// How long requests may take.
    public var limits = PushLimits()

    /// - Parameters:
    ///   - server: `production`, or `https://host:port`.
    ///   - account: whose project the devices belong to.
    /// - Throws: ``MalformedPushServer`` for any other server.
    public init(server: String = "production", account: FCMServiceAccount) throws(MalformedPushServer) {
        address =
            server == "production" ? PushAddress(host: "fcm.googleapis.com") : try PushAddress(url: server)
        self.account = account
    }
}
