import API
import ErrandTestKit
import Foundation
import MetricsTestKit
import NIOHTTP1
import Postgres
import Testing

@Suite("Attacks on the HTTP API") struct APIAttackTests {
    @Test("tokens that are forged, guessed, cut, replaced or dropped get nothing, and jobs of others neither")
    func tokens() async throws {
        try await withAPI { api in
            let (shop, mail) = (
                try await api.token("shop", kinds: ["sum"], queues: ["default"]), try await api.token("mail")
            )
            let id = try #require(try await api.enqueue(#"{"kind": "sum"}"#, shop).id)
            let replaced = try await api.token("third")
            _ = try await api.token("third")
            let dropped = try await api.token("fourth")
            _ = try await api.database.query("select errand.drop_api_token('fourth')")
            let job = "/v1/jobs/\(id)"
            for (what, token) in [
                ("none", nil), ("empty", ""), ("another", APIToken().text), ("cut", String(shop.dropLast())),
                ("longer", shop + "A"), ("in capitals", shop.uppercased()), ("its name", "shop"),
                ("two", "\(shop) \(mail)"), ("replaced", replaced), ("dropped", dropped),
                ("SQL", "' or true --"), ("its hash", APIToken().hash.bytes.map { String($0, radix: 16) }.joined()),
            ] {
                for (method, path) in [(HTTPMethod.GET, job), (.GET, job + "?wait=60s"), (.DELETE, job)] {
                    let refused = try await api.send(method, path, token)
                    #expect(refused.status == 401 && refused.headers["WWW-Authenticate"] == ["Bearer"], "\(what)")
                }
                let refused = try await api.send(.POST, "/v1/jobs", token, json: #"{"kind": "sum"}"#)
                #expect(refused.status == 401, "\(what)")
            }
            for authorization in [[shop], ["Basic \(shop)"], ["Bearer \(shop)", "Bearer \(mail)"]] {
                let refused = try await api.send(
                    .GET, job, headers: authorization.map { ("Authorization", $0) })
                #expect(refused.status == 401)
            }
            for (what, method, path) in [
                ("reads", HTTPMethod.GET, job), ("waits", .GET, job + "?wait=60s"), ("cancels", .DELETE, job),
            ] {
                let refused = try await api.send(method, path, mail)
                #expect(refused.status == 404, "another token \(what)")
            }
            for (what, json, status) in [
                ("another kind", #"{"kind": "noop"}"#, 403),
                ("another queue", #"{"kind": "sum", "queue": "mail"}"#, 403),
                ("two kinds", #"{"kind": "sum", "kind": "noop"}"#, 422),
                ("two kinds in turn", #"{"kind": "noop", "kind": "sum"}"#, 422),
                ("escaped", #"{"kind": "sum", "k\u0069nd": "noop"}"#, 422),
            ] {
                #expect(try await api.enqueue(json, shop).status == status, "\(what)")
            }
            #expect(try await api.database.value("select concat(id, state) from errand.jobs") == "\(id)available")
        }
    }

    @Test(
        "bodies that are none are refused",
        arguments: [
            ("", 400), ("nothing", 400), ("{", 400), ("[]", 400), ("null", 400), ("{}", 400), (#"{"kind": 1}"#, 400),
            (#"{"kind": "Noop"}"#, 400), (#"{"kind": "noop\u0000"}"#, 400),
            (#"{"kind": "a'; drop table errand.job"}"#, 400),
            (#"{"kind": "noop", "queue": "a b"}"#, 400), (#"{"kind": "noop", "priority": 0}"#, 400),
            (#"{"kind": "noop", "priority": 1.5}"#, 400), (#"{"kind": "noop", "priority": "1"}"#, 400),
            (#"{"kind": "noop", "max_attempts": 1e9}"#, 400), (#"{"kind": "noop", "delay_s": -1}"#, 400),
            (#"{"kind": "noop", "run_at": "tomorrow"}"#, 400), (#"{"kind": "noop", "run_at": "infinity"}"#, 400),
            (#"{"kind": "noop", "owner": "me"}"#, 400), (#"{"kind": "noop", "options": {"token": "x"}}"#, 400),
            (#"{"kind": "noop", "tags": ["a", 1]}"#, 400), (#"{"kind": "noop", "subject": ""}"#, 400),
            (#"{"kind": "noop", "payload": "\u0000"}"#, 422), (#"{"kind": "noop", "payload": "\ud800"}"#, 400),
            (#"{"kind": "noop", "run_at": "2030-02-31T00:00:00Z"}"#, 422),
            (#"{"kind": "noop", "run_at": "9999-01-01T00:00:00Z"}"#, 422),
            (#"{"kind": "noop", "run_at": "2030-01-01T00:00:00Z", "delay_s": 1}"#, 422),
            (#"{"kind": "noop", "not_after": "2000-01-01T00:00:00Z"}"#, 422),
            (#"{"kind": "noop", "on_conflict": "drop"}"#, 400), (#"{"kind": "noop", "after": [0]}"#, 400),
            (#"{"kind": "noop", "batch": "1"}"#, 400), (#"{"kind": "noop", "unique_for_s": 0}"#, 400),
            (#"{"kind": "noop", "limit_key": "x"}"#, 400), (#"{"kind": "noop", "guard": "x"}"#, 400),
            (#"{"kind": "noop", "after": [1]}"#, 404), (#"{"kind": "noop", "batch": 1}"#, 404),
            (#"{"kind": "noop", "unique_for_s": 9}"#, 422), (#"{"kind": "noop", "if_head_fails": "block"}"#, 422),
            ("{\"kind\": \"noop\"}\0", 400), ("{\"kind\": \"noop\"} {}", 400),
            (
                #"{"kind": "noop", "payload": "# + String(repeating: "[", count: 90) + String(repeating: "]", count: 90)
                    + "}", 422
            ),
            (#"{"kind": "noop", "payload": "# + String(repeating: "[", count: 100_000), 400),
            (#"{"kind": "noop", "payload": ""# + String(repeating: "x", count: 270_000) + #""}"#, 413),
            (#"{"kind": "noop", "payload": ""# + String(repeating: "x", count: 400_000) + #""}"#, 413),
        ])
    func bodies(json: String, status: Int) async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            let refused = try await api.enqueue(json, token)
            #expect(refused.status == status, "\(json.prefix(100))")
            #expect(refused.headers["Content-Type"] == ["application/problem+json"])
            #expect(!refused.text.contains("xxxx"))
            #expect(try await api.database.value("select count(*) from errand.jobs") == "0")
            #expect(try await api.enqueue(#"{"kind": "noop"}"#, token).status == 201)
        }
    }

    @Test("other content types, paths, methods and parameters are refused")
    func requests() async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            let body = #"{"kind": "noop"}"#
            for type in [
                "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "", "multipart/form-data",
            ] {
                let refused = try await api.send(
                    .POST, "/v1/jobs", token, json: body, headers: [("Content-Type", type)])
                #expect(refused.status == 415, "\(type)")
            }
            #expect(
                try await api.send(
                    .POST, "/v1/jobs", token, json: body, headers: [("Content-Type", "Application/JSON; charset=utf-8")]
                ).status == 201)
            for (method, path, status) in [
                (HTTPMethod.GET, "/v1/jobs", 405), (.PUT, "/v1/jobs/1", 405), (.HEAD, "/v1/jobs/1", 405),
                (.GET, "/v1/signals/x", 405), (.GET, "/v1/batches", 405), (.DELETE, "/v1/batches/1/close", 405),
                (.GET, "/v1/batches/1", 404), (.POST, "/v1/batches/1/drop", 404), (.POST, "/v1/batches/x/close", 404),
                (.POST, "/v1/batches/1/retry?reason=", 400), (.GET, "/", 404), (.GET, "/v1/jobs/", 404),
                (.GET, "/v1/jobs/0", 404),
                (.GET, "/v1/jobs/x", 404), (.GET, "/v1/jobs/-1", 404), (.GET, "/v1/jobs/9223372036854775808", 404),
                (.GET, "/v1/jobs/1%27%20or%20true", 404), (.GET, "/v1/jobs/1/../1", 404),
                (.GET, "/v1/jobs/1?wait=61s", 400), (.GET, "/v1/jobs/1?wait=1", 400),
                (.GET, "/v1/jobs/1?wait=%00", 400),
                (.GET, "/v1/jobs/1?wait=1s&wait=2s", 400), (.GET, "/v1/jobs/1?token=x", 400),
                (.DELETE, "/v1/jobs/1?reason=", 400), (.DELETE, "/v1/jobs/1?reason=%00", 400),
                (.DELETE, "/v1/jobs/1?reason=%FF", 400),
            ] {
                let refused = try await api.send(method, path, token)
                #expect(refused.status == status, "\(method) \(path)")
                #expect((refused.headers["Allow"] != []) == (status == 405), "\(method) \(path)")
            }
            for key in ["", "a b", "é", String(repeating: "k", count: 256)] {
                #expect(try await api.enqueue(body, token, key: key).status == 400, "\(key.prefix(5))")
            }
            for token in ["1.1.1.0123456789abcdef0123456789abcdef", "x", "..%2F..", String(repeating: "1", count: 300)]
            {
                let refused = try await api.send(.POST, "/v1/signals/\(token)", json: #"{"output": 1}"#)
                #expect(refused.status == 404, "\(token.prefix(10))")
            }
            #expect(try await api.database.value("select count(*) from errand.jobs") == "1")
        }
    }

    @Test("a flood of headers and a body without an end are cut off, and others are served meanwhile")
    func floods() async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            let head =
                "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
            let flood = head + (0..<20_000).map { "X-\($0): y\r\n" }.joined()
            #expect(try await Peer.reply(api.port, flood).hasPrefix("HTTP/1.1 400"))
            let endless =
                head + "Transfer-Encoding: chunked\r\n\r\n"
                + String(repeating: "1000\r\n\(String(repeating: " ", count: 4096))\r\n", count: 200)
            #expect(try await Peer.reply(api.port, endless).hasPrefix("HTTP/1.1 413"))
            let declared = head + "Content-Length: 99999999\r\n\r\n"
            #expect(try await Peer.reply(api.port, declared).hasPrefix("HTTP/1.1 413"))
            // A body that never comes: the connection is closed without a response.
            async let slow = Peer.reply(api.port, head + "Content-Length: 100\r\n\r\n{")
            #expect(try await api.enqueue(#"{"kind": "noop"}"#, token).status == 201)
            #expect(try await slow == "")
            #expect(try await api.database.value("select count(*) from errand.jobs") == "1")
        }
    }

    @Test("no token, payload, output, key or reason is in a log line, a metric or another's response")
    func leaks() async throws {
        try await withAPI { api in
            let secret = "s3cr3t"
            let (shop, mail) = (try await api.token("shop"), try await api.token("mail"))
            let id = try #require(
                try await api.enqueue(#"{"kind": "noop", "payload": "\#(secret)"}"#, shop, key: secret).id)
            _ = try await api.enqueue(#"{"kind": "noop", "payload": "\#(secret)" "#, shop)
            _ = try await api.enqueue(#"{"kind": "noop", "payload": "\#(secret)\u0000"}"#, shop)
            _ = try await api.send(.POST, "/v1/signals/\(secret)", json: #"{"output": "\#(secret)"}"#)
            _ = try await api.send(.GET, "/v1/jobs/\(id)?\(secret)=1", shop)
            let foreign = try await api.send(.GET, "/v1/jobs/\(id)", mail)
            let none = try await api.send(.GET, "/v1/jobs/4711000", mail)
            #expect(foreign.text.replacing("\(id)", with: "4711000") == none.text)
            // A fault of the server's own.
            try await api.database.execute("alter function errand_internal.api_job_v1 rename to broken")
            #expect(try await api.send(.GET, "/v1/jobs/\(id)", shop).status == 500)
            _ = try await api.send(.DELETE, "/v1/jobs/\(id)?reason=\(secret)", shop)
            #expect(api.log.text.contains("could not serve"))
            let labels = api.metrics.counters.flatMap { $0.dimensions.map { "\($0.0)=\($0.1)" } }.joined(separator: " ")
            for text in [secret, shop, mail, APIToken().text.prefix(7).description] {
                #expect(!api.log.text.contains(text) && !labels.contains(text), "\(text.prefix(7))")
            }
        }
    }
}

/// A peer that sends what it likes.
private enum Peer {
    /// The response, or nothing if the connection is closed without one.
    static func reply(_ port: Int, _ request: String) async throws -> String {
        let peer = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(peer, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(code == 0)
        let bytes = Array(request.utf8)
        return await withCheckedContinuation { reply in
            Thread.detachNewThread {
                defer { close(peer) }
                var sent = 0
                while sent < bytes.count {
                    let count = bytes[sent...].withUnsafeBytes {
                        Foundation.send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    if count <= 0 { break }
                    sent += count
                }
                var limit = timeval(tv_sec: 60, tv_usec: 0)
                setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                var text: [UInt8] = []
                var part = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = recv(peer, &part, part.count, 0)
                    if count <= 0 { break }
                    text += part.prefix(count)
                }
                reply.resume(returning: String(decoding: text, as: UTF8.self))
            }
        }
    }
}
