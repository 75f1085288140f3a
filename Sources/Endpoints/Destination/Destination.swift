import Outbound

/// Where requests of an endpoint go, from its URL.
///
/// Stricter than URLs are, so that no other reader of the URL finds another host in it: requests are made from these
/// parts, not from the text.
struct Destination: Hashable, Sendable {
    let isSecure: Bool
    /// A name in small letters, or an address in its shortest form.
    let host: String
    /// The address, if the host is one.
    let address: IPAddress?
    /// Nil for the scheme's own.
    let port: UInt16?
    /// The path and the query.
    let target: String

    /// - Throws: ``MalformedDestination``, which shows nothing of the URL: its query may be a secret.
    init(url: String) throws(MalformedDestination) {
        guard url.utf8.count <= 2000, url.utf8.allSatisfy(Self.isAllowed) else {
            throw MalformedDestination("expected at most 2000 characters of those that a URL has")
        }
        let schemes = [("https://", true), ("http://", false)]
        guard let (scheme, isSecure) = schemes.first(where: { url.lowercased().hasPrefix($0.0) }) else {
            throw MalformedDestination("expected https:// or http://")
        }
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { throw MalformedDestination("expected no user in it") }
        let target = rest.dropFirst(authority.count)
        self.isSecure = isSecure
        self.target = target.hasPrefix("/") ? String(target) : "/\(target)"
        let (host, port) = try Self.parts(of: authority)
        self.port = port
        if host.hasPrefix("[") {
            guard let address = IPAddress(String(host.dropFirst().dropLast())) else {
                throw MalformedDestination("expected an IPv6 address in the brackets, without a zone")
            }
            self.address = address
        } else {
            self.address = IPAddress(host)
        }
        self.host = address?.text ?? host
    }

    /// The URL again, with a host that is read in one way only.
    var url: String {
        let shown = host.contains(":") ? "[\(host)]" : host
        return "\(isSecure ? "https" : "http")://\(shown)\(port.map { ":\($0)" } ?? "")\(target)"
    }

    private static func parts(of authority: Substring) throws(MalformedDestination) -> (host: String, port: UInt16?) {
        let host: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else {
                throw MalformedDestination("expected a bracket behind the IPv6 address")
            }
            host = authority[...end]
        } else {
            host = authority.prefix { $0 != ":" }
            let labels = host.split(separator: ".", omittingEmptySubsequences: false)
            let isName = host.utf8.count <= 253 && labels.allSatisfy { (1...63).contains($0.utf8.count) }
            guard isName, host.utf8.allSatisfy(Self.isOfName) else {
                throw MalformedDestination("expected a host of letters, digits, - and _, or an address")
            }
        }
        let rest = authority[host.endIndex...]
        if rest.isEmpty { return (host.lowercased(), nil) }
        let digits = rest.dropFirst()
        guard rest.hasPrefix(":"), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits),
            port > 0
        else { throw MalformedDestination("expected a port of 1 to 65535") }
        return (host.lowercased(), port)
    }

    /// The characters of RFC 3986, but for `#`: a fragment isn't sent.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        isOfName(byte) || "~:/?[]@!$&'()*+,;=%".utf8.contains(byte)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-_.".utf8.contains(byte)
        }
    }
}

/// A URL that no endpoint may have. Its description says what was expected.
struct MalformedDestination: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
