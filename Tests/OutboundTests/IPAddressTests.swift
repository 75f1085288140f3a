import Testing

@testable import Outbound

@Suite("IP addresses") struct IPAddressTests {
    @Test(
        "an address range holds its addresses, also those in IPv6 form",
        arguments: [
            ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.1", false), ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false),
            ("0.0.0.0/0", "8.8.8.8", true), ("0.0.0.0/0", "::1", false),
        ])
    func ranges(range: String, address: String, isInside: Bool) throws {
        let range = try #require(AddressRange(range))
        let address = try #require(IPAddress(address))
        #expect(range.contains(address) == isInside)
    }

    @Test("what is no range is refused", arguments: ["", "10", "10.0.0.0/33", "10.0.0.0/", "example.com", "::1/129"])
    func noRange(text: String) { #expect(AddressRange(text) == nil) }

    @Test(
        "an address has one text, whatever it was written as",
        arguments: [
            ("127.0.0.1", "127.0.0.1"), ("::ffff:10.1.2.3", "10.1.2.3"), ("::FFFF:0a01:0203", "10.1.2.3"),
            ("2001:DB8:0:0::1", "2001:db8::1"), ("0:0:0:0:0:0:0:1", "::1"),
        ])
    func texts(text: String, shown: String) { #expect(IPAddress(text)?.text == shown) }

    @Test(
        "what is no address is none",
        arguments: ["", "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "1.2.3.4.", "[::1]", "::1%lo", "fe80::1%1"])
    func noAddress(text: String) { #expect(IPAddress(text) == nil) }
}
