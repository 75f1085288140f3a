import Foundation
import NIOCore

/// An IPv4 or IPv6 address, as its bytes.
package struct IPAddress: Hashable, Sendable {
    /// 4 or 16.
    package let bytes: [UInt8]

    /// Nil for anything but an address; an IPv4 address in IPv6 form is an IPv4 address.
    package init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            let all = withUnsafeBytes(of: six) { Array($0) }
            let isFour = all[0..<10].allSatisfy { $0 == 0 } && all[10] == 255 && all[11] == 255
            bytes = isFour ? Array(all[12...]) : all
        } else {
            return nil
        }
    }

    /// Nil for the address of a Unix socket.
    package init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(String(text.prefix { $0 != "%" }))
    }

    /// The IPv4 address of four bytes.
    package init(four: ArraySlice<UInt8>) {
        precondition(four.count == 4)
        bytes = Array(four)
    }

    /// The shortest form, in small letters.
    package var text: String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = bytes.withUnsafeBytes { bytes in
            inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes.baseAddress, &buffer, socklen_t(buffer.count))
        }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    package var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// What counts as one guesser: an IPv4 address, or an IPv6 network of 64 bits, of which one host has all.
    package var neighbourhood: [UInt8] { bytes.count == 4 ? bytes : Array(bytes[0..<8]) }
}

/// An address, or a network such as `10.0.0.0/8`.
package struct AddressRange: Sendable {
    private let first: IPAddress
    private let bits: Int

    /// Nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first.flatMap({ IPAddress(String($0)) }) else { return nil }
        first = address
        let all = address.bytes.count * 8
        guard parts.count == 2 else {
            bits = all
            return
        }
        guard let bits = Int(parts[1]), (0...all).contains(bits) else { return nil }
        self.bits = bits
    }

    package func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == first.bytes.count else { return false }
        return (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return address.bytes[bit / 8] & mask == first.bytes[bit / 8] & mask
        }
    }
}
