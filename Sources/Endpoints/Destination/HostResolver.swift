import Foundation
import NIOPosix
import Outbound

/// Finds the addresses of a host's name.
package protocol HostResolver: Sendable {
    /// The addresses of a name, those to prefer first, each once.
    ///
    /// - Throws: ``UnknownHost`` for a name without one.
    func addresses(of host: String) async throws -> [IPAddress]
}

/// A name without an address, or nobody could say.
package struct UnknownHost: Error {}

/// The system's resolver: `/etc/hosts`, DNS, and whatever else the system asks.
package struct SystemResolver: HostResolver {
    /// For lookups alone, each of which may block its thread for half a minute.
    private static let threads = {
        let threads = NIOThreadPool(numberOfThreads: 8)
        threads.start()
        return threads
    }()

    package init() {}

    package func addresses(of host: String) async throws -> [IPAddress] {
        try await Self.threads.runIfActive { try Self.resolve(host) }
    }

    private static func resolve(_ host: String) throws(UnknownHost) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else { throw UnknownHost() }
        defer { freeaddrinfo(first) }
        var found: [IPAddress] = []
        var next = first
        while let entry = next?.pointee {
            if let address = Self.address(of: entry), !found.contains(address) { found.append(address) }
            next = entry.ai_next
        }
        guard !found.isEmpty else { throw UnknownHost() }
        return found
    }

    private static func address(of entry: addrinfo) -> IPAddress? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let result = getnameinfo(
            entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        guard result == 0 else { return nil }
        // A link-local address has its zone behind it.
        return IPAddress(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
}
