import Foundation
import Postgres
import Testing

@testable import Dashboard

@Suite("Attacks on the operators' page") struct PageAttackTests {
    @Test("a form without its token, with a foreign one, or of another site changes nothing")
    func foreignForms() async throws {
        try await withPage(try someRules()) { page in
            let job = try await page.fail(error: "no")
            let (cookie, token) = try await page.logIn()
            let (_, others) = try await page.logIn()
            #expect(token.count == 43 && token != others)
            let tries: [(String, [String: String])] = [
                ("action=retry", [:]), ("action=retry&token=", [:]), ("action=retry&token=\(others)", [:]),
                ("action=retry&token=\(token)", ["Origin": "https://evil.example"]),
                ("action=retry&token=\(token)", ["Origin": "http://127.0.0.1:1"]),
                ("action=retry&token=\(token)", ["Sec-Fetch-Site": "cross-site"]),
                ("action=retry&token=\(token)", ["Sec-Fetch-Site": "same-site", "Origin": "null"]),
            ]
            for (form, headers) in tries {
                let reply = try await page.send(
                    "POST", "/jobs/\(job)", form: form, headers: headers.merging(["Cookie": cookie]) { $1 })
                #expect(reply.status == 403, "\(form) \(headers)")
            }
            #expect(try await page.state(of: job) == "failed")
            let queriedStatus = try await page.send("GET", "/jobs/\(job)?action=retry", headers: ["Cookie": cookie])
                .status
            #expect(queriedStatus == 200)
            #expect(try await page.state(of: job) == "failed")
            let own = ["Cookie": cookie, "Origin": "null", "Sec-Fetch-Site": "same-origin"]
            let ownStatus = try await page.send(
                "POST", "/jobs/\(job)", form: "action=retry&token=\(token)", headers: own
            ).status
            #expect(ownStatus == 303)
        }
    }

    @Test("a log-in of another site is refused, also of one without a name, and that of the page's own form is not")
    func foreignLogIn() async throws {
        try await withPage(try someRules()) { page in
            let form = "name=alice&password=\(Dashboard.encoded(Page.password))"
            let own = "http://127.0.0.1:\(page.port)"
            for (headers, status) in [
                (["Origin": "null"], 403), (["Origin": "null", "Sec-Fetch-Site": "none"], 403),
                (["Origin": "https://evil.example"], 403), (["Origin": own], 303),
                (["Origin": "null", "Sec-Fetch-Site": "same-origin"], 303), ([:], 303),
            ] {
                let reply = try await page.send("POST", "/log-in", form: form, headers: headers)
                #expect(reply.status == status, "\(headers)")
            }
            // Without it, browsers would send `Origin: null` with the page's own form.
            let shown = try await page.send("GET", "/log-in").text
            #expect(shown.contains(#"<meta name="referrer" content="same-origin">"#))
        }
    }

    @Test("guessing is slowed after five failures, also by token, and the owner of the token is not")
    func guessing() async throws {
        try await withPage(try someRules()) { page in
            var statuses: [Int] = []
            for guess in 0..<8 {
                statuses.append(
                    try await page.send("POST", "/log-in", form: "name=alice&password=a-wrong-guess-\(guess)").status)
            }
            #expect(statuses.prefix(5).allSatisfy { $0 == 403 } && statuses.last == 429, "\(statuses)")
            let right = try await page.send(
                "POST", "/log-in", form: "name=alice&password=\(Dashboard.encoded(Page.password))")
            #expect(right.status == 429 && right.headers["retry-after"] != nil)
            let wrongTokenStatus = try await page.send("GET", "/", headers: ["Authorization": "Bearer guess"]).status
            #expect(wrongTokenStatus == 429)
            let rightTokenStatus = try await page.send("GET", "/", headers: ["Authorization": "Bearer \(Page.token)"])
                .status
            #expect(rightTokenStatus == 200)
            #expect(!page.log.text.contains("a-wrong-guess"))
        }
    }

    @Test("an unknown name takes as long as a wrong password")
    func names() async throws {
        try await withPage(try someRules()) { page in
            let unknown = try await page.send("POST", "/log-in", form: "name=mallory&password=x")
            let wrong = try await page.send("POST", "/log-in", form: "name=alice&password=x")
            #expect(unknown.status == wrong.status)
            let texts = [unknown, wrong].map { $0.text.replacing(/Request [A-Za-z0-9_-]+/, with: "") }
            #expect(texts[0] == texts[1])
        }
    }

    @Test("a form over a megabyte is refused before it is held")
    func large() async throws {
        try await withPage(try someRules()) { page in
            let (cookie, token) = try await page.logIn()
            let form = "token=\(token)&action=edit&payload=" + String(repeating: "x", count: 1 << 21)
            let largeStatus = try await page.send("POST", "/jobs/1", form: form, headers: ["Cookie": cookie]).status
            #expect(largeStatus == 413)
        }
    }

    @Test("addresses that climb, break lines or are no numbers find nothing")
    func addresses() async throws {
        try await withPage(AccessRules()) { page in
            for path in [
                "/assets/../Templates/head.mustache", "/assets/..%2f..%2fetc%2fpasswd", "/assets/%2e%2e",
                "/assets/head.mustache",
                "/jobs/%0d%0aSet-Cookie:a=b", "/jobs/99999999999999999999", "/jobs/1%27%20or%201=1", "/jobs/%00",
                "/nowhere",
                "/jobs?before=%27", "/jobs?created_after=%27;drop%20table", "/log-in?next=%0d%0aSet-Cookie:%20a=b",
            ] {
                let reply = try await page.send("GET", path)
                #expect([200, 303, 404, 422].contains(reply.status), "\(path): \(reply.status)")
                #expect(reply.headers["set-cookie"] == nil, "\(path)")
                #expect(!reply.text.contains("{{") && !reply.text.contains("root:"), "\(path)")
                // An empty page would be the browser's own.
                let isPage = reply.status == 303 || reply.text.contains("</html>") || path.hasPrefix("/assets")
                #expect(isPage, "\(path)")
                if reply.status == 303 { #expect(reply.headers["location"] == "/", "\(path)") }
            }
        }
    }

    @Test("500 slow clients don't keep /healthz or the page from replying")
    func slow() async throws {
        try await withPage(AccessRules()) { page in
            var peers: [Int32] = []
            defer { peers.forEach { close($0) } }
            let half = Array("POST /log-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\nname=".utf8)
            for _ in 0..<500 {
                let peer = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = in_port_t(page.port).bigEndian
                address.sin_addr.s_addr = inet_addr("127.0.0.1")
                let isOpen = withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(peer, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                    }
                }
                #expect(isOpen)
                peers.append(peer)
                #expect(write(peer, half, half.count) == half.count)
            }
            let start = ContinuousClock.now
            let healthStatus = try await page.send("GET", "/healthz").status
            #expect(healthStatus == 200)
            let jobsStatus = try await page.send("GET", "/jobs").status
            #expect(jobsStatus == 200)
            #expect(ContinuousClock.now - start < .seconds(15))
        }
    }

    @Test("no log has a password, a token or a cookie")
    func quiet() async throws {
        try await withPage(try someRules()) { page in
            let (cookie, token) = try await page.logIn()
            _ = try await page.send("GET", "/", headers: ["Authorization": "Bearer \(Page.token)"])
            _ = try await page.send(
                "POST", "/workers", form: "token=\(token)&action=drain&worker=1&reason=x",
                headers: ["Cookie": cookie])
            for secret in [Page.password, Page.token, String(cookie.split(separator: "=")[1]), token] {
                #expect(!page.log.text.contains(secret))
            }
        }
    }
}
