import ErrandTestKit
import Foundation
import Outbound
import Postgres
import Testing

@testable import Dashboard

@Suite("The operators' page over HTTP") struct PageTests {
    private static let pages = ["/", "/jobs", "/batches", "/failures", "/schedules", "/workers", "/limits", "/audit"]

    @Test("without a log-in every page is there, without the content of jobs, and nothing can be changed")
    func readOnly() async throws {
        try await withPage(AccessRules()) { page in
            let job = try await page.fail(error: "the canary sings", payload: #"{"note": "canary-payload"}"#)
            for path in Self.pages + ["/jobs/\(job)"] {
                let reply = try await page.send("GET", path)
                #expect(reply.status == 200, "\(path)")
                #expect(!reply.text.contains("canary"), "\(path)")
                #expect(!reply.text.contains("method=\"post\""), "\(path)")
            }
            let attempt = try await page.send("POST", "/jobs/\(job)", form: "action=discard&reason=x")
            #expect(attempt.status == 403)
            #expect(try await page.state(of: job) == "failed")
        }
    }

    @Test("without a log-in, a foreign name that leads here gets nothing")
    func rebinding() async throws {
        try await withPage(AccessRules()) { page in
            let foreignStatus = try await page.send("GET", "/jobs", headers: ["Host": "evil.example"]).status
            #expect(foreignStatus == 421)
            let localStatus = try await page.send("GET", "/jobs", headers: ["Host": "localhost:\(page.port)"]).status
            #expect(localStatus == 200)
        }
    }

    @Test("with a log-in, pages lead to its form, and only health and metrics are open")
    func needsLogIn() async throws {
        try await withPage(try someRules()) { page in
            for path in Self.pages + ["/jobs/1", "/failures/retry?kind=a"] {
                let reply = try await page.send("GET", path)
                #expect(reply.status == 303 && reply.headers["location"]?.hasPrefix("/log-in") == true, "\(path)")
            }
            for path in ["/healthz", "/readyz", "/metrics", "/log-in", "/assets/page.css"] {
                let openStatus = try await page.send("GET", path).status
                #expect(openStatus == 200, "\(path)")
            }
            let closedStatus = try await page.send("POST", "/workers", form: "action=drain&worker=1&reason=x").status
            #expect(closedStatus == 401)
        }
    }

    @Test("every response forbids scripts of others, frames, caches and referrers, and has a request id")
    func headers() async throws {
        try await withPage(AccessRules()) { page in
            for path in ["/", "/jobs/0", "/assets/page.js", "/log-in"] {
                let headers = try await page.send("GET", path).headers
                let policy = headers["content-security-policy"] ?? ""
                #expect(policy.hasPrefix("default-src 'none'") && !policy.contains("unsafe"), "\(path)")
                #expect(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"))
                #expect(headers["x-content-type-options"] == "nosniff" && headers["referrer-policy"] == "no-referrer")
                #expect(headers["cache-control"] == "no-store" && headers["x-request-id"]?.isEmpty == false)
            }
        }
    }

    @Test("a person who is logged in retries a failed job, as errand_ops, on record with their name and request")
    func acts() async throws {
        try await withPage(try someRules()) { page in
            let job = try await page.fail(error: "no", payload: #"{"password": "hunter22", "size": 1}"#)
            let (cookie, token) = try await page.logIn()
            let shown = try await page.send("GET", "/jobs/\(job)", headers: ["Cookie": cookie]).text
            #expect(shown.contains("••••••••") && !shown.contains("hunter22"))
            let edited = Dashboard.encoded(#"{"password": "••••••••", "size": 2}"#)
            let reply = try await page.send(
                "POST", "/jobs/\(job)", form: "action=edit-retry&payload=\(edited)&reason=why&token=\(token)",
                headers: ["Cookie": cookie])
            #expect(reply.headers["location"] == "/jobs/\(job)?done=edit-retry", "\(reply)")
            #expect(try await page.state(of: job) == "available")
            let payload = try await page.database.query(
                Statement("select payload::text from errand.job where id = $1", [job])
            ).scalar(String.self)
            #expect(payload == #"{"size": 2, "password": "hunter22"}"#)
            let audit = try await page.database.query(
                "select action, person, acting_as, request from errand.audit order by id"
            ).map {
                try $0.decode(String.self, String.self, String.self, String.self)
            }
            #expect(audit.map(\.0) == ["edit_job", "retry"])
            for entry in audit { #expect(entry.1 == "alice" && entry.2 == "errand_ops") }
            #expect(audit.map(\.3) == Array(repeating: reply.headers["x-request-id"] ?? "", count: 2))
            #expect(page.log.text.contains("acted for an operator") && !page.log.text.contains("hunter22"))
        }
    }

    @Test("a program with a token acts without a form's token, and a wrong token is refused")
    func bearer() async throws {
        try await withPage(try someRules()) { page in
            let job = try await page.fail(error: "no")
            let wrong = try await page.send(
                "POST", "/jobs/\(job)", form: "action=retry", headers: ["Authorization": "Bearer wrong"])
            #expect(wrong.status == 403)
            let right = try await page.send(
                "POST", "/jobs/\(job)", form: "action=retry", headers: ["Authorization": "Bearer \(Page.token)"])
            #expect(right.status == 303 && right.headers["set-cookie"] == nil)
            #expect(try await page.state(of: job) == "available")
        }
    }

    @Test("a trusted proxy names the person, and from other addresses the header counts for nothing")
    func proxy() async throws {
        for (range, status) in [("127.0.0.1", 200), ("10.0.0.0/8", 303)] {
            var rules = AccessRules()
            rules.proxy = LoginProxy(header: "X-Forwarded-User", addresses: [try #require(AddressRange(range))])
            try await withPage(rules) { page in
                let reply = try await page.send("GET", "/workers", headers: ["X-Forwarded-User": "bob@example.com"])
                #expect(reply.status == status)
                #expect(reply.text.contains("bob@example.com") == (status == 200))
            }
        }
    }

    @Test("the cookie is HttpOnly and SameSite=Strict, and the session ends with the log-out")
    func cookie() async throws {
        try await withPage(try someRules()) { page in
            let form = "name=alice&password=\(Dashboard.encoded(Page.password))&next=//evil.example"
            let reply = try await page.send("POST", "/log-in", form: form)
            let set = reply.headers["set-cookie"] ?? ""
            #expect(set.contains("HttpOnly") && set.contains("SameSite=Strict") && set.contains("Path=/"))
            #expect(reply.headers["location"] == "/")
            let (cookie, token) = try await page.logIn()
            let beforeStatus = try await page.send("GET", "/", headers: ["Cookie": cookie]).status
            #expect(beforeStatus == 200)
            _ = try await page.send("POST", "/log-out", form: "token=\(token)", headers: ["Cookie": cookie])
            let afterStatus = try await page.send("GET", "/", headers: ["Cookie": cookie]).status
            #expect(afterStatus == 303)
        }
    }
}

extension Page {
    /// A failed job with this error.
    func fail(error: String, payload: String = "{}") async throws -> Int64 {
        try await database.query(
            Statement(
                """
                insert into errand.failed (
                    id, created_at, run_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error, attempts)
                values (
                    nextval(pg_get_serial_sequence('errand.job', 'id')), now(), now(), 2, 1, 1, 0, 'default', 'noop',
                    $2::text::jsonb, $1, jsonb_build_array(jsonb_build_object('attempt', 1, 'error', $1)))
                returning id
                """, [error, payload])
        ).scalar(Int64.self)
    }

    func state(of job: Int64) async throws -> String? {
        try await database.query(Statement("select errand_internal.state_of($1)", [job])).scalar(String?.self)
    }
}
