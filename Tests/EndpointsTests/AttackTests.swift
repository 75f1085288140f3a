import Errand
import Testing

@testable import Endpoints

/// What an endpoint's URL, its name's addresses or its server could try to have a worker call something inside.
@Suite("Endpoints reach nothing inside") struct AttackTests {
    struct Trick: Sendable, CustomTestStringConvertible {
        let name: String
        /// `PORT` is that of a server on loopback.
        let url: String
        var names: [String: [[String]]] = [:]
        var allowsPrivate = false
        let reason: String

        var testDescription: String { name }
    }

    private static let refusedURL = "url: "
    private static let privateHost = "its host has a private address, which it doesn't allow"
    private static let forbiddenHost = "its host has an address that no endpoint may have"

    static let tricks: [Trick] =
        [
            ("loopback", "https://127.0.0.1:PORT/"), ("another loopback", "https://127.8.8.8:PORT/"),
            ("loopback in IPv6", "https://[::1]:PORT/"), ("IPv4 in IPv6 form", "https://[::ffff:127.0.0.1]:PORT/"),
            ("the same in hex", "https://[::ffff:7f00:1]:PORT/"),
            ("the same, all digits", "https://[0:0:0:0:0:ffff:7f00:0001]:PORT/"),
            ("translated", "https://[64:ff9b::7f00:1]:PORT/"),
            ("a network's translator", "https://[64:ff9b:1::7f00:1]/"),
            ("6to4", "https://[2002:7f00:1::]:PORT/"), ("Teredo", "https://[2001:0:7f00:1::f5ff:fffe]:PORT/"),
            ("ISATAP", "https://[2606:4700::5efe:127.0.0.1]:PORT/"), ("private", "https://10.0.0.1:PORT/"),
            ("private, 172", "https://172.16.0.1/"), ("private, 192", "https://192.168.0.1/"),
            ("a carrier's", "https://100.64.0.1/"), ("link-local", "https://169.254.1.1/"),
            ("private in IPv6", "https://[fd12:3456::1]/"), ("link-local in IPv6", "https://[fe80::1]/"),
            ("benchmarks", "https://198.18.0.1/"), ("documentation", "https://[2001:db8::1]/"),
        ].map { Trick(name: $0, url: $1, reason: privateHost) }
        // Addresses as programs other than this one write them: only a resolver knows them.
        + [
            ("decimal", "2130706433"), ("octal", "0177.0.0.1"), ("hex", "0x7f000001"), ("hex parts", "0x7f.0.0.1"),
            ("two parts", "127.1"), ("three parts", "127.0.1"), ("zeros in front", "127.0.0.01"),
            ("a name of loopback", "localhost"), ("another", "localhost.localdomain"), ("capitals", "LOCALHOST"),
            ("a public name", "127.0.0.1.nip.test"), ("a name with _", "my_host"),
        ].map { name, host in
            Trick(
                name: name, url: "https://\(host):PORT/", names: [host.lowercased(): [["127.0.0.1"]]],
                reason: privateHost)
        }
        + [
            ("two addresses", [["8.8.8.8", "127.0.0.1"]], privateHost),
            ("the other way", [["127.0.0.1", "8.8.8.8"]], privateHost),
            ("IPv6 behind IPv4", [["8.8.8.8", "::1"]], privateHost), ("a name of 10", [["10.0.0.1"]], privateHost),
            ("a name of metadata", [["169.254.169.254"]], forbiddenHost), ("a name of 0", [["0.0.0.0"]], forbiddenHost),
            ("a name of many", [["224.0.0.1"]], forbiddenHost), ("a name of ::", [["::"]], forbiddenHost),
        ].map { name, addresses, reason in
            Trick(
                name: name, url: "https://hooks.test:PORT/", names: ["hooks.test": addresses], reason: reason)
        }
        + [
            ("nowhere", "https://0.0.0.0:PORT/"), ("nowhere in IPv6", "https://[::]:PORT/"),
            ("part of nowhere", "https://0.0.0.1:PORT/"), ("IPv4, compatible", "https://[::127.0.0.1]:PORT/"),
            ("all", "https://255.255.255.255/"), ("many in IPv6", "https://[ff02::1]:PORT/"),
        ].map { Trick(name: $0, url: $1, reason: forbiddenHost) }
        // Metadata isn't for those either that allow private addresses.
        + [
            ("metadata", "http://169.254.169.254/latest/meta-data/"), ("of Amazon in IPv6", "http://[fd00:ec2::254]/"),
            ("of containers", "http://169.254.170.2/"), ("of Google in IPv6", "http://[fd20:ce::254]/"),
            ("of Alibaba", "http://100.100.100.200/"), ("of Azure", "http://168.63.129.16/"),
            ("in IPv6 form", "http://[::ffff:169.254.169.254]/"), ("in hex", "http://[::ffff:a9fe:a9fe]/"),
            ("by a translator", "http://[64:ff9b::a9fe:a9fe]/"), ("by 6to4", "http://[2002:a9fe:a9fe::]/"),
            ("nowhere is loopback", "http://0.0.0.0:PORT/"), ("and in IPv6", "http://[::]:PORT/"),
        ].map { Trick(name: "allowed, \($0)", url: $1, allowsPrivate: true, reason: forbiddenHost) }
        + [
            ("decimal metadata", "2852039166"), ("metadata's name", "metadata.google.internal"),
        ].map { name, host in
            Trick(
                name: "allowed, \(name)", url: "http://\(host)/", names: [host: [["169.254.169.254"]]],
                allowsPrivate: true, reason: forbiddenHost)
        }
        + [
            ("plain HTTP", "http://hooks.test:PORT/"), ("a user", "https://hooks.test@127.0.0.1:PORT/"),
            ("a user and password", "https://a:b@127.0.0.1:PORT/"),
            ("a user with a port", "https://hooks.test:80@127.0.0.1/"),
            ("a fragment", "https://127.0.0.1:PORT#@hooks.test/"),
            ("a backslash", "https://hooks.test\\@127.0.0.1:PORT/"),
            ("another backslash", "https://127.0.0.1:PORT\\.hooks.test/"), ("no port", "https://127.0.0.1:0/"),
            ("a port too large", "https://127.0.0.1:99999/"), ("two ports", "https://hooks.test:443:PORT/"),
            ("a point at the end", "https://localhost.:PORT/"), ("two points", "https://127.0.0.1..:PORT/"),
            ("an ideographic point", "https://127。0。0。1:PORT/"), ("a wide point", "https://127．0．0．1:PORT/"),
            ("letters in circles", "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/"), ("digits in circles", "https://①②⑦.0.0.1:PORT/"),
            ("percent", "https://%31%32%37.0.0.1:PORT/"), ("a line break", "https://127.0.0.1:PORT/\r\nHost: a"),
            ("a zone", "https://[::1%25lo]:PORT/"), ("a zone, plain", "https://[fe80::1%lo]:PORT/"),
            ("a space", "https://hooks.test 127.0.0.1:PORT/"), ("a tab", "https://hooks.test\t@127.0.0.1:PORT/"),
            ("NUL", "https://hooks.test\0.127.0.0.1:PORT/"), ("a file", "file:///etc/passwd"),
            ("a socket", "http+unix://%2Fvar%2Frun%2Fdocker.sock/"), ("another protocol", "gopher://127.0.0.1:PORT/_a"),
        ].map { Trick(name: $0, url: $1, names: ["hooks.test": [["127.0.0.1"]]], reason: refusedURL) }

    @Test("no trick with a URL or a name reaches a server inside", arguments: tricks)
    func refused(trick: Trick) async throws {
        let server = try await StubServer()
        let url = trick.url.replacing("PORT", with: "\(server.port)")
        let caller = try CallKit(resolver: TableResolver(trick.names)).caller()
        let reply = try await caller.call(
            CallKit.endpoint(url, timeout: .seconds(5), allowsPrivate: trick.allowsPrivate), CallKit.request())
        guard case .unavailable(let reason) = reply else {
            Issue.record("expected a refusal, got \(reply)")
            return
        }
        #expect(reason.hasPrefix(trick.reason))
        #expect(server.connections == 0)
    }

    @Test("the same server is reached by an endpoint that allows it, by address and by name")
    func allowed() async throws {
        let server = try await StubServer()
        let caller = try CallKit(resolver: TableResolver(["hooks.test": [["127.0.0.1"]]])).caller()
        for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "hooks.test"] {
            let endpoint = CallKit.endpoint("http://\(host):\(server.port)/")
            #expect(try await caller.call(endpoint, CallKit.request()) == .done(output: nil))
        }
        #expect(server.requests.count == 3)
    }

    @Test("the system's resolver finds what numbers and names of loopback mean, and they are refused")
    func system() async throws {
        let server = try await StubServer()
        let caller = try CallKit().caller()
        for host in ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1"] {
            let endpoint = CallKit.endpoint("https://\(host):\(server.port)/", allowsPrivate: false)
            let reply = try await caller.call(endpoint, CallKit.request())
            let refusals: [EndpointReply] = [
                .unavailable(reason: Self.privateHost), .unavailable(reason: "its host has no address"),
            ]
            #expect(refusals.contains(reply), "\(host): \(reply)")
        }
        #expect(server.connections == 0)
    }

    @Test(
        "a redirect is not followed, wherever it leads",
        arguments: [301, 302, 303, 307, 308],
        ["http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:PORT/inside", "//127.0.0.1:PORT/", "/inside"])
    func redirects(status: Int, location: String) async throws {
        let inside = try await StubServer()
        let target = location.replacing("PORT", with: "\(inside.port)")
        let server = try await StubServer { _ in
            [.send(StubServer.response(status, "", ["location: \(target)"]))]
        }
        let reply = try await CallKit().caller().call(CallKit.endpoint(server.url), CallKit.request())
        #expect(
            reply == .refused(reason: "status \(status): redirects are not followed", cause: "status \(status)"))
        #expect(server.requests.map(\.path) == ["/jobs"])
        #expect(inside.connections == 0)
    }

    @Test("a name that changes after the check still leads to the address that was checked")
    func rebinding() async throws {
        let server = try await StubServer()
        let inside = try await StubServer(on: "127.0.0.2", port: server.port)
        let resolver = TableResolver(["hooks.test": [["127.0.0.1"], ["127.0.0.2"]]])
        let caller = try CallKit(resolver: resolver).caller()
        let endpoint = CallKit.endpoint("http://hooks.test:\(server.port)/")
        for _ in 0..<5 { #expect(try await caller.call(endpoint, CallKit.request()) == .done(output: nil)) }
        #expect(server.requests.count == 5)
        #expect(inside.connections == 0)
        #expect(resolver.lookups == 1)
    }

    @Test("a name that changes is checked again after 30 s, and no other lookup happens")
    func changes() async throws {
        let resolver = TableResolver(["hooks.test": [["8.8.8.8"], ["127.0.0.1"]]])
        let hosts = CheckedHosts(resolver)
        let destination = try Destination(url: "https://hooks.test/")
        let start = ContinuousClock.now
        func reach(after span: Duration) async throws -> Reach {
            try await hosts.host(of: destination, at: start + span, waiting: .seconds(60)).reach
        }
        for seconds in [0, 1, 29] { #expect(try await reach(after: .seconds(seconds)) == .public) }
        #expect(resolver.lookups == 1)
        #expect(try await reach(after: .seconds(30)) == .private)
        #expect(resolver.lookups == 2)
    }

    @Test("only names that their table knows are resolved: the system isn't asked beside it")
    func onlyResolver() async throws {
        let server = try await StubServer()
        let caller = try CallKit(resolver: TableResolver([:])).caller()
        let reply = try await caller.call(CallKit.endpoint("http://localhost:\(server.port)/"), CallKit.request())
        #expect(reply == .unavailable(reason: "its host has no address"))
        #expect(server.connections == 0)
    }
}
