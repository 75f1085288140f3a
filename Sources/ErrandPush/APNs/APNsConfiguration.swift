/// The APNs server, the app and the signing key.
///
/// ```swift
/// let key = try APNsKey(pem: text, id: "ABC123DEFG", team: "DEF123GHIJ")
/// let service = try APNsService(APNsConfiguration(server: "production", topic: "com.example.shop", key: key))
/// ```
public struct APNsConfiguration: Sendable {
    let address: PushAddress
    /// The app's bundle id.
    public var topic: String
    /// What provider tokens are signed with.
    public var key: APNsKey
    /// The path of a PEM file with certificate authorities, trusted beside the system's. Default none.
    public var authorities: String?
    /// How long requests may take.
    public var limits = PushLimits()

    /// - Parameters:
    ///   - server: `production`, `sandbox`, or `https://host:port`.
    ///   - topic: the app's bundle id.
    ///   - key: what provider tokens are signed with.
    /// - Throws: ``MalformedPushServer`` for any other server.
    public init(server: String, topic: String, key: APNsKey) throws(MalformedPushServer) {
        switch server {
        case "production": address = PushAddress(host: "api.push.apple.com")
        case "sandbox": address = PushAddress(host: "api.sandbox.push.apple.com")
        default: address = try PushAddress(url: server)
        }
        self.topic = topic
        self.key = key
    }
}

/// A push server that can't be used. Its description says what was expected.
public struct MalformedPushServer: Error, Sendable, CustomStringConvertible {
    public var description: String { "expected production, sandbox or https://host:port" }
}
