import Errand
import Foundation
import NIOHTTP1
import NIOSSL
import Postgres
import PushKit
import Testing

@testable import Endpoints

/// Calls of a real server on loopback, good ones and bad ones.
@Suite("Calls of endpoints") struct CallTests {
    @Test("a job is posted with its payload and a signature, and its response is the output")
    func done() async throws {
        let server = try await StubServer { _ in [.send(StubServer.json(#"{"id": 1}"#))] }
        let reply = try await call(server)
        #expect(reply == .done(output: JSONB(#"{"id": 1}"#)))
        let request = try #require(server.requests.first)
        #expect(request.path == "/jobs")
        #expect(request.body == Array(#"{"order": 17}"#.utf8))
        #expect(request.headers["host"] == ["127.0.0.1:\(server.port)"])
        #expect(request.headers["accept-encoding"].isEmpty)
        let time = try #require(request.headers["webhook-timestamp"].first.flatMap { Int64($0) })
        #expect(abs(Date.now.timeIntervalSince1970 - Double(time)) < 60)
        let signed = Array("job_17.\(time).".utf8) + request.body
        let signature = try #require(EndpointSecret(CallKit.secret)).signature(of: signed)
        #expect(request.headers["webhook-signature"] == [signature])
    }

    @Test("202, 410 and 429 have their meaning on the wire too")
    func statuses() async throws {
        let replies: [(String, EndpointReply)] = [
            (StubServer.json("{}", 202), .accepted), (StubServer.response(410), .gone(reason: "status 410")),
            (
                StubServer.response(429, "", ["retry-after: 7"]),
                .busy(for: .seconds(7), reason: "status 429")
            ),
            (
                StubServer.response(503, "", ["Retry-After: Sun, 21 Nov 2100 04:05:49 GMT"]),
                .busy(for: .seconds(86_400), reason: "status 503")
            ),
            (
                StubServer.json(#"{"error": "no such order"}"#, 404),
                .refused(reason: "status 404: no such order", cause: "status 404")
            ),
            (StubServer.response(500, "secret"), .failed(reason: "status 500", cause: "status 500")),
        ]
        for (text, expected) in replies {
            let server = try await StubServer { _ in [.send(text)] }
            #expect(try await call(server) == expected)
        }
    }

    @Test(
        "a server that never ends its response loses the job in time",
        arguments: [
            [], [.send("HTTP/1.1 200 Some\r\n")], [.send("HTTP/1.1 200 Some\r\ncontent-length: 5\r\n\r\n12")],
            [.send("HTTP/1.1 200 Some\r\ncontent-length: 60000\r\n\r\n"), .drip("1")], [.drip("H")],
            [.send("HTTP/1.1 200 Some\r\ntransfer-encoding: chunked\r\n\r\n"), .drip("1\r\n \r\n")],
            [.drip("HTTP/1.1 103 Early\r\n\r\n")],
        ] as [[StubServer.Step]])
    func hangs(steps: [StubServer.Step]) async throws {
        let server = try await StubServer { _ in steps }
        let reply = try await call(server, timeout: .seconds(2))
        let replies: [EndpointReply] = [
            .failed(reason: "no whole response in time", cause: "timed out"),
            // What drips may be no HTTP before the time is over.
            .failed(reason: "expected a response by HTTP, got something else", cause: "malformed response"),
        ]
        #expect(replies.contains(reply), "\(reply)")
        try await closed(server)
    }

    @Test(
        "a server that sends without end is cut off",
        arguments: [
            ("HTTP/1.1 200 Some\r\ntransfer-encoding: chunked\r\n\r\n", "a\r\n0123456789\r\n"),
            ("HTTP/1.1 200 Some\r\n\r\n", "0123456789"),
            ("HTTP/1.1 200 Some\r\ncontent-length: 9999999999\r\n\r\n", "0"),
        ])
    func floods(head: String, text: String) async throws {
        let server = try await StubServer { _ in [.send(head), .flood(String(repeating: text, count: 1000))] }
        #expect(
            try await call(server)
                == .refused(
                    reason: "output: expected at most 262144 bytes as text, got more", cause: "output too large"))
        try await closed(server)
    }

    @Test(
        "headers without end are cut off",
        arguments: ["x-some: thing\r\n", "x"])
    func headerFloods(text: String) async throws {
        let server = try await StubServer { _ in
            [.send("HTTP/1.1 200 Some\r\nx"), .flood(String(repeating: text, count: 1000))]
        }
        #expect(
            try await call(server)
                == .failed(
                    reason: "expected a response by HTTP, got something else", cause: "malformed response"))
        try await closed(server)
    }

    @Test("a server that responds before it has read the request, and then hangs up, ends the call and nothing else")
    func early() async throws {
        let server = try await StubServer(readsBody: false) { _ in [.send(StubServer.json("1"))] }
        // More than the buffers of the sockets hold, so that the response comes first.
        let request = CallKit.request("\"\(String(repeating: "x", count: 250_000))\"")
        for _ in 0..<10 {
            try await withThrowingTaskGroup(of: EndpointReply.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await CallKit().caller().call(CallKit.endpoint(server.url), request) }
                }
                for try await reply in group {
                    if case .failed = reply { continue }
                    #expect(reply == .done(output: JSONB("1")))
                }
            }
        }
    }

    @Test("of an error's text without end, the status is known at once")
    func errorFloods() async throws {
        let server = try await StubServer { _ in
            [.send("HTTP/1.1 500 Some\r\n\r\n"), .flood(String(repeating: "a", count: 10_000))]
        }
        #expect(try await call(server) == .failed(reason: "status 500", cause: "status 500"))
        try await closed(server)
    }

    @Test("a job is accepted even if the rest of the response doesn't come")
    func acceptedInPart() async throws {
        let server = try await StubServer { _ in
            [.send("HTTP/1.1 202 Some\r\ncontent-length: 5\r\n\r\n12"), .close]
        }
        #expect(try await call(server) == .accepted)
    }

    @Test(
        "what is no HTTP fails the attempt",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/9.9 200 Some\r\n\r\n", "HTTP/1.1 two hundred\r\n\r\n", "\0\0\0\0\0\0\0\0",
            "HTTP/1.1 200 Some\r\ncontent-length: -5\r\n\r\n", "HTTP/1.1 200 Some\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 Some\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n12345",
            "HTTP/1.1 200 Some\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        ])
    func garbage(text: String) async throws {
        let server = try await StubServer { _ in [.send(text), .delay(.milliseconds(50)), .close] }
        guard case .failed(_, let cause) = try await call(server) else {
            Issue.record("expected a failed attempt")
            return
        }
        #expect(["malformed response", "connection lost"].contains(cause))
    }

    @Test(
        "a connection that closes early fails the attempt",
        arguments: [
            "", "HTTP/1.1 200 Some\r\n", "HTTP/1.1 200 Some\r\ncontent-length: 5\r\n\r\n12",
            "HTTP/1.1 200 Some\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12",
        ])
    func closesEarly(text: String) async throws {
        let server = try await StubServer { _ in text.isEmpty ? [.close] : [.send(text), .close] }
        #expect(
            try await call(server)
                == .failed(reason: "the connection was lost before its response", cause: "connection lost"))
        #expect(server.requests.count == 1)
    }

    @Test("connections are used again, and one that the server has closed meanwhile costs nothing")
    func reuse() async throws {
        let server = try await StubServer { request in
            // Closes the first connection as its third request comes.
            request.connection == 1 && request.number == 3 ? [.close] : [.send(StubServer.response())]
        }
        let caller = try CallKit().caller()
        for _ in 0..<6 {
            #expect(try await caller.call(CallKit.endpoint(server.url), CallKit.request()) == .done(output: nil))
        }
        // As the pool replaces the closed one, it may open another beside the one of the waiting request.
        #expect((2...3).contains(server.connections))
        // One of them twice, with the same webhook-id.
        #expect(server.requests.count == 7)
    }

    @Test("a server that is down, and one without its secret, isn't called: no attempt is counted")
    func unavailable() async throws {
        let stopped = try await StubServer()
        try await stopped.stop()
        let down = try await call(stopped)
        #expect(down == .unavailable(reason: "no connection to it: connection refused"))
        let server = try await StubServer()
        let caller = try CallKit().caller()
        let unsigned = try await caller.call(CallKit.endpoint(server.url, secret: "mail"), CallKit.request())
        #expect(unsigned == .unavailable(reason: "no secret mail in ERRAND_ENDPOINT_SECRETS"))
        #expect(server.connections == 0)
    }

    @Test("the next address is tried if one can't be connected to, and first from then on")
    func addresses() async throws {
        let server = try await StubServer(on: "127.0.0.2")
        let resolver = TableResolver(["hooks.test": [["127.0.0.1", "127.0.0.2"]]])
        let caller = try CallKit(resolver: resolver).caller()
        for _ in 0..<3 {
            let endpoint = CallKit.endpoint("http://hooks.test:\(server.port)/")
            #expect(try await caller.call(endpoint, CallKit.request()) == .done(output: nil))
        }
        #expect(server.requests.first?.headers["host"] == ["hooks.test:\(server.port)"])
    }

    @Test("the certificate has to be for the URL's host, though the address was resolved before")
    func certificates() async throws {
        let certificate = try PushCertificate.shared.get()
        let server = try await StubServer(tls: certificate.serverContext(["http/1.1"]))
        let names = ["hooks.test": [["127.0.0.1"]], "other.test": [["127.0.0.1"]]]
        var kit = CallKit(resolver: TableResolver(names))
        func call(_ host: String) async throws -> EndpointReply {
            try await kit.caller().call(CallKit.endpoint("https://\(host):\(server.port)/"), CallKit.request())
        }
        let refused = EndpointReply.unavailable(reason: "no connection to it: no TLS with its host")
        // Nobody trusts it.
        #expect(try await call("hooks.test") == refused)
        kit.authorities = try NIOSSLCertificate.fromPEMFile(certificate.path)
        #expect(try await call("hooks.test") == .done(output: nil))
        #expect(try await call("127.0.0.1") == .done(output: nil))
        #expect(try await call("other.test") == refused)
        #expect(server.requests.count == 2)
    }

    @Test("a call ends as its task is cancelled")
    func cancelled() async throws {
        let server = try await StubServer { _ in [] }
        let caller = try CallKit().caller()
        let call = Task { try await caller.call(CallKit.endpoint(server.url), CallKit.request()) }
        while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await closed(server)
    }

    @Test("a lookup that hangs ends with the call's time, and serves the next call")
    func slowLookup() async throws {
        let resolver = SlowResolver()
        let server = try await StubServer()
        let caller = try CallKit(resolver: resolver).caller()
        let endpoint = CallKit.endpoint("http://hooks.test:\(server.port)/", timeout: .milliseconds(200))
        #expect(
            try await caller.call(endpoint, CallKit.request())
                == .unavailable(reason: "no address of its host was found in time"))
        resolver.proceed()
        let patient = CallKit.endpoint("http://hooks.test:\(server.port)/")
        #expect(try await caller.call(patient, CallKit.request()) == .done(output: nil))
    }

    private func call(_ server: StubServer, timeout: Duration = .seconds(30)) async throws -> EndpointReply {
        try await CallKit().caller().call(CallKit.endpoint(server.url, timeout: timeout), CallKit.request())
    }

    /// Waits until the server has no open connection.
    private func closed(_ server: StubServer) async throws {
        while server.openConnections > 0 { try await Task.sleep(for: .milliseconds(2)) }
    }
}
