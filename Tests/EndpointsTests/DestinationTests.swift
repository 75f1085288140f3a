import Testing

@testable import Endpoints

@Suite("URLs of endpoints") struct DestinationTests {
    @Test(
        "a URL is read in one way",
        arguments: [
            ("https://hooks.example.com/jobs?key=1", "https://hooks.example.com/jobs?key=1"),
            ("HTTPS://Hooks.Example.COM", "https://hooks.example.com/"),
            ("https://hooks.example.com?key=1", "https://hooks.example.com/?key=1"),
            ("http://127.0.0.1:8080/a/../b", "http://127.0.0.1:8080/a/../b"),
            ("https://[::FFFF:10.0.0.1]:8443/", "https://10.0.0.1:8443/"),
            ("https://[2001:DB8:0::1]", "https://[2001:db8::1]/"),
            ("https://my_host/", "https://my_host/"), ("https://2130706433/", "https://2130706433/"),
            ("https://a/b@c:d", "https://a/b@c:d"), ("https://a:065535/", "https://a:65535/"),
        ])
    func read(url: String, shown: String) throws { #expect(try Destination(url: url).url == shown) }

    @Test(
        "what another reader could take for another host is refused",
        arguments: [
            "", "hooks.example.com", "ftp://a/", "file:///etc/passwd", "unix:///run/a", "http+unix://%2Frun%2Fa/",
            "https:/a", "https:///a", "https://", "https://?a", "https://:443/", "https://a:0/", "https://a:65536/",
            "https://a:-1/", "https://a:+80/", "https://a:8 0/", "https://a:80:90/", "https://a:/", "https://user@a/",
            "https://user:word@a/", "https://a@b@c/", "https://@a/", "https://a\\@b/", "https://a\\b/", "https://a b/",
            "https://a\t/", "https://a\r\nhost: b/", "https://a/\r\nx: y", "https://a/#b", "https://a#@b/",
            "https://a%2eb/", "https://%61/", "https://a./", "https://.a/", "https://a..b/", "https://a。b/",
            "https://a．b/", "https://ⓐ/", "https://ｌocalhost/", "https://[::1", "https://::1/", "https://[::1]a/",
            "https://[::1%lo]/", "https://[::1%25lo]/", "https://[fe80::1%25eth0]/", "https://[127.0.0.1]x/",
            "https://[]/", "https://[::1]@a/", "https://a\0b/", "https://a*b/", "https://a,b/",
        ])
    func refused(url: String) { #expect(throws: MalformedDestination.self) { try Destination(url: url) } }

    @Test("a URL that is refused isn't shown, since it may hold a secret")
    func quiet() {
        for url in ["https://user:topsecret@a/", "https://topsecret:0/", "topsecret", "https://a/?topsecret#b"] {
            let error = #expect(throws: MalformedDestination.self) { try Destination(url: url) }
            #expect(error.map { "\($0)" }?.contains("topsecret") == false)
        }
    }
}
