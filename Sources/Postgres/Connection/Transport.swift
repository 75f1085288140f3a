import CLibpq

/// The server's address of a connection, and the protection of the connection.
package struct Transport: Sendable, Hashable {
    /// The host as configured; for a Unix socket its folder.
    package let host: String
    /// The server is on this host: a Unix socket or a loopback address.
    package let isLocal: Bool
    /// libpq's `sslmode`, from the URL, the environment or the default: `prefer`.
    package let sslMode: String

    package init(host: String, address: String, sslMode: String) {
        self.host = host
        self.sslMode = sslMode
        let isSocket = host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@")
        isLocal = isSocket || address.hasPrefix("127.") || address == "::1"
    }

    init(_ connection: OpaquePointer) {
        var sslMode = ""
        let options = PQconninfo(connection)
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option?.pointee.keyword {
            if String(cString: keyword) == "sslmode", let value = option?.pointee.val {
                sslMode = String(cString: value)
            }
            option = option.map { $0 + 1 }
        }
        self.init(
            host: PQhost(connection).map { String(cString: $0) } ?? "",
            address: PQhostaddr(connection).map { String(cString: $0) } ?? "", sslMode: sslMode)
    }
}
