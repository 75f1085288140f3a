import Outbound

/// Which endpoints may have an address.
enum Reach: Comparable, Hashable {
    /// Every endpoint.
    case `public`
    /// Only one that allows private addresses.
    case `private`
    /// None: metadata of clouds, which gives credentials to each program that asks, and what is no server's address.
    case forbidden
}

extension Reach {
    /// By the registries of IANA for special addresses (RFC 6890), and by what an address carries within itself: it
    /// reaches no further than any IPv4 address in it.
    init(_ address: IPAddress) {
        self = ([Self.own(address)] + address.carried.map(Self.own)).max() ?? .forbidden
        // A form of a private address is private, even where its own range is public.
        if address.isTunnelled, self == .public { self = .private }
    }

    private static func own(_ address: IPAddress) -> Reach {
        let rules = address.bytes.count == 4 ? four : six
        return rules.first { $0.range.contains(address) }?.reach ?? .forbidden
    }

    private struct Rule {
        let range: AddressRange
        let reach: Reach

        init?(_ range: String, _ reach: Reach) {
            guard let range = AddressRange(range) else { return nil }
            self.range = range
            self.reach = reach
        }
    }

    private static func rules(_ forbidden: [String], _ inner: [String], _ outer: [String]) -> [Rule] {
        [(forbidden, Reach.forbidden), (inner, .private), (outer, .public)].flatMap { ranges, reach in
            ranges.map { range in
                guard let rule = Rule(range, reach) else { preconditionFailure("\(range) is no range") }
                return rule
            }
        }
    }

    /// The first that holds an address decides.
    private static let four = rules(
        [
            // The metadata of most clouds; of containers and pods at Amazon; of Alibaba, Oracle and Azure.
            "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "168.63.129.16",
            // Nowhere, many, and all.
            "0.0.0.0/8", "224.0.0.0/4", "255.255.255.255",
        ],
        [
            "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
            "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
            "240.0.0.0/4",
        ],
        ["0.0.0.0/0"])

    /// Only 2000::/3 is public by itself, and 64:ff9b::/96 by what it carries.
    private static let six = rules(
        ["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "::", "ff00::/8"],
        [
            "::1", "fc00::/7", "fe80::/10", "64:ff9b:1::/48", "2001::/23", "2001:db8::/32", "3fff::/20",
        ],
        ["2000::/3", "64:ff9b::/96"])
}

extension IPAddress {
    private static let network = (
        translated: AddressRange("64:ff9b::/96"), translatedHere: AddressRange("64:ff9b:1::/48"),
        sixToFour: AddressRange("2002::/16"), teredo: AddressRange("2001::/32")
    )

    private func isIn(_ range: AddressRange?) -> Bool { range?.contains(self) == true }

    /// Whether a relay that nobody vouches for would carry packets to it.
    fileprivate var isTunnelled: Bool { isIn(Self.network.sixToFour) || isIn(Self.network.teredo) || isISATAP }

    private var isISATAP: Bool {
        bytes.count == 16 && bytes[8] & 0xFD == 0 && bytes[9...11].elementsEqual([0x00, 0x5E, 0xFE])
    }

    /// The IPv4 addresses that an IPv6 address carries, to which a relay or translator may bring its packets. That of
    /// an IPv4 address in IPv6 form (`::ffff:10.0.0.1`) isn't one: it is an IPv4 address.
    fileprivate var carried: [IPAddress] {
        guard bytes.count == 16 else { return [] }
        let last = IPAddress(four: bytes[12...])
        if isIn(Self.network.translated) || isISATAP { return [last] }
        // The prefix of a network's own translator may end at 48 bits and further (RFC 6052, 2.2).
        if isIn(Self.network.translatedHere) {
            let early = bytes[6...7] + bytes[9...10]
            return early.allSatisfy { $0 == 0 } ? [last] : [last, IPAddress(four: early)]
        }
        if isIn(Self.network.sixToFour) { return [IPAddress(four: bytes[2...5])] }
        // The server, and the client with each bit inverted.
        if isIn(Self.network.teredo) {
            return [IPAddress(four: bytes[4...7]), IPAddress(four: bytes[12...].map { ~$0 }[...])]
        }
        return []
    }
}
