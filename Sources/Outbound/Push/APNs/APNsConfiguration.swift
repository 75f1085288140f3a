import Foundation

/// Which APNs is spoken to, for which app, and with which key.
package struct APNsConfiguration: Sendable {
    package var host: String
    package var port: Int
    /// The app's bundle id.
    package var topic: String
    package var key: APNsKey
    /// A PEM file of authorities that are trusted besides the system's.
    package var authorities: String?
    package var limits = Limits()

    /// - Parameter server: `production`, `sandbox`, or `https://host:port` for a server of one's own.
    /// - Throws: ``MalformedPushServer`` where it is none of them.
    package init(server: String, topic: String, key: APNsKey) throws(MalformedPushServer) {
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

    /// How long things may take.
    package struct Limits: Sendable {
        /// Until a connection is there, TLS included; or a place among the requests on it.
        package var connect: Duration = .seconds(5)
        /// From a request to the end of its answer.
        package var answer: Duration = .seconds(10)
        /// How long a connection is kept that nobody uses: Apple takes many short ones for an attack.
        package var idle: Duration = .seconds(2 * 3600)

        package init() {}
    }
}

/// A push server that can't be used; says what was expected.
package struct MalformedPushServer: Error, Sendable, CustomStringConvertible {
    package var description: String { "expected production, sandbox or https://host:port" }
}
