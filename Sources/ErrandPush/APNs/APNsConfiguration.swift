import Foundation

/// The APNs server, the app and the signing key.
///
/// ```swift
/// let key = try APNsKey(pem: text, id: "ABC123DEFG", team: "DEF123GHIJ")
/// let service = try APNsService(APNsConfiguration(server: "production", topic: "com.example.shop", key: key))
/// ```
public struct APNsConfiguration: Sendable {
    /// The server's name.
    public var host: String
    /// The server's port.
    public var port: Int
    /// The app's bundle id.
    public var topic: String
    /// What provider tokens are signed with.
    public var key: APNsKey
    /// The path of a PEM file with certificate authorities, trusted beside the system's. Default none.
    public var authorities: String?
    /// How long requests may take.
    public var limits = Limits()

    /// - Parameters:
    ///   - server: `production`, `sandbox`, or `https://host:port`.
    ///   - topic: the app's bundle id.
    ///   - key: what provider tokens are signed with.
    /// - Throws: ``MalformedPushServer`` for any other server.
    public init(server: String, topic: String, key: APNsKey) throws(MalformedPushServer) {
        switch server {
        case "production": (host, port) = ("api.push.apple.com", 443)
        case "sandbox": (host, port) = ("api.sandbox.push.apple.com", 443)
        default:
            guard let url = URLComponents(string: server), url.scheme == "https", let name = url.host, !name.isEmpty,
                url.user == nil, url.password == nil, url.path.isEmpty || url.path == "/", url.query == nil
            else { throw MalformedPushServer() }
            (host, port) = (name, url.port ?? 443)
        }
        self.topic = topic
        self.key = key
    }

    /// How long requests may take.
    public struct Limits: Sendable {
        /// Until a connection is open, TLS included, and has room for a request. Default 5 s.
        public var connect: Duration = .seconds(5)
        /// From a request to the end of its response. Default 10 s.
        public var response: Duration = .seconds(10)
        /// How long an unused connection stays open. Default 2 h: Apple takes many short connections for an attack.
        public var idle: Duration = .seconds(2 * 3600)

        /// The defaults.
        public init() {}
    }
}

/// A push server that can't be used. Its description says what was expected.
public struct MalformedPushServer: Error, Sendable, CustomStringConvertible {
    public var description: String { "expected production, sandbox or https://host:port" }
}
