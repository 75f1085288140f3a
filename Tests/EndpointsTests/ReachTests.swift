import Outbound
import Testing

@testable import Endpoints

@Suite("Which addresses endpoints may have") struct ReachTests {
    @Test(
        "public addresses are for every endpoint",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::200e",
            "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
        ])
    func openToAll(text: String) throws { #expect(Reach(try #require(IPAddress(text))) == .public) }

    @Test(
        "private addresses are for those that allow them",
        arguments: [
            "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.254",
            "169.254.0.1",
            "172.16.0.0", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.0",
            "198.19.255.255", "198.51.100.1", "203.0.113.1", "240.0.0.1", "255.255.255.254", "::1", "fc00::1",
            "fdff:ffff::1", "fe80::1", "febf::1", "2001:db8::1", "3fff::1", "2001:10::1",
            // IPv4 in IPv6 form, by a translator, 6to4, Teredo and ISATAP.
            "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:7f00:1", "64:ff9b::127.0.0.1", "64:ff9b::a00:1",
            "64:ff9b:1::a00:1", "2002:7f00:1::1", "2002:808:808::1", "2001:0:a00:1::1", "2001:0:808:808::f5ff:fffe",
            "2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:8.8.8.8",
        ])
    func closed(text: String) throws { #expect(Reach(try #require(IPAddress(text))) == .private) }

    @Test(
        "metadata, and what is no address of one server, is for none",
        arguments: [
            "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "168.63.129.16",
            "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "255.255.255.255", "::", "fd00:ec2::254",
            "fd00:ec2::23", "fd20:ce::254", "ff02::1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "::ffff:a9fe:a9fe",
            "64:ff9b::169.254.169.254", "64:ff9b:1::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::1",
            "2001:0:a9fe:a9fe::1", "2001:0:808:808::5601:5601", "2606:4700::5efe:169.254.169.254",
            // IPv4 addresses in the form that nobody uses, and ranges without a use.
            "::127.0.0.1", "::8.8.8.8", "::2", "100::1", "4000::1", "fec0::1", "5f00::1",
        ])
    func closedToAll(text: String) throws { #expect(Reach(try #require(IPAddress(text))) == .forbidden) }
}
