import ErrandTestKit
import Postgres
import Testing

@testable import Dashboard

@Suite("The page of several cells") struct CellPagesTests {
    @Test("the root shows each cell with its figures, one that is down too, and leads to its pages")
    func overview() async throws {
        try await withCells(someRules()) { page, databases in
            for _ in 0..<3 { try await databases[1].execute("select errand.enqueue('noop')") }
            let (cookie, _) = try await logIn(page)
            let root = try await page.send("GET", "/", headers: ["Cookie": cookie]).text
            #expect(root.contains(#"<a href="/cells/1/">db0/q</a>"#))
            #expect(root.contains(#"data-label="Waiting">3</td>"#), "\(root)")
            #expect(root.contains(#"<a href="/cells/3/">db2/q</a> <span class="tag bad">down</span>"#))
            #expect(!root.contains(#"href="/jobs"#), "pages are a cell's")
            #expect(try await page.send("GET", "/jobs", headers: ["Cookie": cookie]).status == 404)
            #expect(try await page.send("GET", "/cells/4/", headers: ["Cookie": cookie]).status == 404)
            let down = try await page.send("GET", "/cells/3/jobs", headers: ["Cookie": cookie])
            #expect(down.status == 503 && down.text.contains("The database doesn&#39;t reply"))
        }
    }

    @Test("each address of a cell's pages leads to that cell, and a form acts there", .timeLimit(.minutes(2)))
    func addresses() async throws {
        try await withCells(someRules()) { page, databases in
            for database in databases { try await database.execute("select errand.enqueue('noop')") }
            let (cookie, token) = try await logIn(page)
            for path in ["", "/jobs", "/failures", "/schedules", "/workers", "/limits", "/audit"] {
                let text = try await page.send("GET", "/cells/2\(path)", headers: ["Cookie": cookie]).text
                #expect(text.contains(#"<span class="person">db1/q</span>"#), "\(path)")
                for match in text.matches(of: /(?:href|action|src)="(\/[^"]*)"/) {
                    #expect(match.1.hasPrefix("/cells/2/"), "\(path): \(match.1)")
                }
            }
            #expect(try await page.send("GET", "/cells/2/assets/page.css").status == 200)
            let form = "token=\(token)&queue=default&action=pause&reason=trial"
            let paused = try await page.send("POST", "/cells/2/queues", form: form, headers: ["Cookie": cookie])
            #expect(paused.status == 303 && paused.headers["location"] == "/cells/2/?done=pause")
            let queue = "select paused_at is not null from errand.queues where queue = 'default'"
            #expect(try await databases[1].query(Statement(queue, [])).scalar(Bool.self))
            #expect(try await databases[0].query(Statement(queue, [])).scalar(Bool.self) == false)
        }
    }

    @Test("a page asks for a log-in and leads back; that log-in counts for all cells")
    func login() async throws {
        try await withCells(someRules()) { page, _ in
            let refused = try await page.send("GET", "/cells/2/jobs")
            #expect(refused.status == 303 && refused.headers["location"] == "/cells/2/log-in?next=%2fcells%2f2%2fjobs")
            let form = try await page.send("GET", "/cells/2/log-in?next=%2fcells%2f2%2fjobs").text
            #expect(form.contains(#"action="/cells/2/log-in""#) && form.contains(#"value="/cells/2/jobs""#))
            let (cookie, _) = try await logIn(page, at: "/cells/2/log-in", next: "/cells/2/jobs")
            for path in ["/", "/cells/1/jobs", "/cells/2/jobs"] {
                #expect(try await page.send("GET", path, headers: ["Cookie": cookie]).status == 200)
            }
        }
    }

    /// Returns the cookie and the token of its forms.
    private func logIn(_ page: Page, at path: String = "/log-in", next: String = "/") async throws -> (String, String) {
        let password = Dashboard.encoded(Page.password)
        let reply = try await page.send(
            "POST", path, form: "name=alice&password=\(password)&next=\(Dashboard.encoded(next))")
        #expect(reply.headers["location"] == next)
        let cookie = String((reply.headers["set-cookie"] ?? "").prefix { $0 != ";" })
        let text = try await page.send("GET", "/cells/1/workers", headers: ["Cookie": cookie]).text
        return (cookie, text.firstMatch(of: /name="token" value="([^"]+)"/).map { String($0.1) } ?? "")
    }
}
