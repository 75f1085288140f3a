import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Dashboard

@Suite("Actions of the page on limits, kinds and groups of failures") struct ActionTests {
    private static let bounds = """
        select limit_key as name, max_running::text from errand.limit
        union all
        select queue, allowed || ' in ' || per from errand.rate
        order by name
        """

    @Test("a limit and a rate are set and removed with a reason, which is on record")
    func limits() async throws {
        try await withOperator { page in
            let forms = [
                ("action=limit&name=tenant/*&allowed=3&reason=a+contract", "limit"),
                ("action=limit&name=tenant/*&allowed=4&reason=a+better+one", "limit"),
                ("action=rate&name=mail&allowed=100&per=1+minute&reason=the+provider", "rate"),
            ]
            for (form, done) in forms {
                #expect(try await page.post("/limits", form).headers["location"] == "/limits?done=\(done)")
            }
            #expect(try await page.rows(Self.bounds) == ["mail 100 in 00:01:00", "tenant/* 4"])
            let shown = try await page.send("GET", "/limits", headers: page.cookie).text
            #expect(shown.contains(#"value="no-rate""#) && shown.contains("100 in 00:01:00"))
            for form in ["action=no-limit&name=tenant/*&reason=over", "action=no-rate&name=mail&reason=over"] {
                #expect(try await page.post("/limits", form).status == 303)
            }
            #expect(try await page.rows(Self.bounds) == [])
            #expect(
                try await page.rows("select action, person || ': ' || reason from errand.audit order by id") == [
                    "set_limit alice: a contract", "set_limit alice: a better one", "set_rate alice: the provider",
                    "set_limit alice: over", "set_rate alice: over",
                ])
        }
    }

    @Test("the rate of a key is set, changed and removed with a reason; a burst is one unless it is given")
    func keyRates() async throws {
        try await withOperator { page in
            let rates = "select rate_key, allowed || ' in ' || per || ', ' || burst from errand.key_rate"
            for (form, rate) in [
                ("name=tenant/*&allowed=30&per=1+minute&burst=5", "tenant/* 30 in 00:01:00, 5"),
                ("name=tenant/*&allowed=40&per=1+hour&burst=", "tenant/* 40 in 01:00:00, 1"),
            ] {
                let reply = try await page.post("/limits", "action=key-rate&reason=a+contract&\(form)")
                #expect(reply.headers["location"] == "/limits?done=key-rate", "\(reply.text)")
                #expect(try await page.rows(rates) == [rate])
            }
            let shown = try await page.shown("/limits")
            #expect(shown.contains(#"<input type="hidden" name="name" value="tenant/*">"#))
            #expect(shown.contains(#"name="per" required maxlength="100" value="01:00:00""#))
            for form in ["name=a&allowed=1&per=1+ms", "name=a&allowed=many&per=1+min", "name=&allowed=1&per=1+min"] {
                #expect(try await page.post("/limits", "action=key-rate&reason=x&\(form)").status == 422, "\(form)")
            }
            #expect(try await page.post("/limits", "action=no-key-rate&name=tenant/*").status == 422)
            #expect(try await page.post("/limits", "action=no-key-rate&name=tenant/1&reason=x").status == 404)
            #expect(try await page.rows(rates) == ["tenant/* 40 in 01:00:00, 1"])
            let removed = try await page.post("/limits", "action=no-key-rate&name=tenant/*&reason=over")
            #expect(removed.headers["location"] == "/limits?done=no-key-rate")
            #expect(try await page.rows(rates) == [])
            #expect(
                try await page.rows("select action, person || ': ' || reason from errand.audit order by id").last
                    == "set_key_rate alice: over")
        }
    }

    @Test("an action without a reason, with a malformed number or without the form's token changes nothing")
    func refused() async throws {
        try await withOperator { page in
            let job = try await page.page.fail(error: "no")
            for (path, form, status) in [
                ("/limits", "action=limit&name=a&allowed=3", 422), ("/limits", "action=limit&name=a&reason=x", 422),
                ("/limits", "action=limit&name=a&allowed=many&reason=x", 422),
                ("/limits", "action=no-limit&name=a", 422),
                ("/limits", "action=rate&name=mail&allowed=1&reason=x", 422),
                ("/limits", "action=rate&name=mail&allowed=1&per=soon&reason=x", 422),
                ("/limits", "action=pause-kind&name=noop", 422), ("/limits", "action=other&name=a&reason=x", 404),
                ("/failures/discard", "action=discard&kind=noop&queue=default&fingerprint=no", 422),
                ("/failures/discard", "action=bulk&kind=noop&queue=default&fingerprint=no", 422),
                ("/failures/discard", "kind=noop&queue=default&fingerprint=no&reason=x", 404),
                ("/failures/bulk", "action=stop&bulk=1", 422), ("/failures/bulk", "action=stop&bulk=1&reason=x", 404),
            ] {
                #expect(try await page.post(path, form).status == status, "\(form)")
                let foreign = try await page.send(
                    "POST", path, form: form + "&reason=x&token=wrong", headers: page.cookie)
                #expect(foreign.status == 403, "\(form)")
                #expect(try await page.rows("select action, '' from errand.audit") == [], "\(form)")
                #expect(try await page.page.state(of: job) == "failed", "\(form)")
            }
        }
    }

    @Test("a kind is paused and resumed; an unknown one is refused, with the names that it may have meant")
    func kinds() async throws {
        try await withOperator { page in
            try await page.database.execute(
                """
                insert into errand.kind (name, queue, max_attempts, priority)
                values ('newsletter', 'default', 3, 2)
                """)
            let unknown = try await page.post("/limits", "action=pause-kind&name=newsleter&reason=x")
            #expect(unknown.status == 404 && unknown.text.contains("Is it newsletter"))
            let year = Calendar(identifier: .gregorian).component(.year, from: .now) + 1
            let paused = try await page.post(
                "/limits", "action=pause-kind&name=newsletter&until=\(year)-01-01T12:00&reason=the+text+is+wrong")
            #expect(paused.headers["location"] == "/limits?done=pause-kind", "\(paused.text)")
            #expect(
                try await page.rows("select name, until::text from errand.circuit where opened_at is not null")
                    == ["kind:newsletter \(year)-01-01 12:00:00+00"])
            let shown = try await page.send("GET", "/limits", headers: page.cookie).text
            #expect(shown.contains("paused") && shown.contains("the text is wrong"))
            #expect(shown.contains(#"<option value="newsletter">"#) && shown.contains(#"value="resume-kind""#))
            #expect(try await page.post("/limits", "action=resume-kind&name=newsletter&reason=corrected").status == 303)
            #expect(try await page.rows("select name, '' from errand.circuit where opened_at is not null") == [])
            #expect(
                try await page.rows("select action, reason from errand.audit order by id")
                    == ["pause_kind the text is wrong", "resume_kind corrected"])
        }
    }

    @Test("similar failures are discarded together, after a dry run that changes nothing")
    func discards() async throws {
        try await withOperator { page in
            for number in 1...3 { _ = try await page.page.fail(error: "no mailbox \(number)") }
            let other = try await page.page.fail(error: "another error")
            let shown = try await page.send("GET", "/failures", headers: page.cookie).text
            #expect(shown.contains("Discard them…"))
            let group = "kind=noop&queue=default&fingerprint=" + Dashboard.encoded("no mailbox #")
            let plan = try await page.send("GET", "/failures/discard?\(group)", headers: page.cookie).text
            #expect(plan.contains("<b>3 jobs</b> would be given up") && plan.contains("Discard 3 jobs"))
            #expect(!plan.contains("in the background"))
            #expect(try await page.rows("select count(*)::text, '' from errand.failed") == ["4 "])
            let reply = try await page.post("/failures/discard", "action=discard&\(group)&reason=they+left")
            #expect(reply.headers["location"] == "/failures?done=discarded-3")
            #expect(try await page.rows("select id::text, '' from errand.failed") == ["\(other) "])
            #expect(
                try await page.rows("select state, reason from errand.history limit 1")
                    == ["cancelled discarded: they left"])
            let again = try await page.post("/failures/discard", "action=discard&\(group)&reason=they+left")
            #expect(again.headers["location"] == "/failures?done=none")
            let notice = try await page.send("GET", "/failures?done=discarded-3", headers: page.cookie).text
            #expect(notice.contains("3 jobs are discarded."))
        }
    }

    @Test("more failures than one action takes are discarded in the background, which is shown and can be stopped")
    func bulk() async throws {
        try await withOperator { page in
            try await page.database.execute(
                """
                insert into errand.failed (
                    id, created_at, run_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error)
                select
                    nextval(pg_get_serial_sequence('errand.job', 'id')), now(), now(), 2, 1, 1, 0, 'default', 'noop',
                    '{}', 'no mailbox ' || n
                from generate_series(1, 10005) as n
                """)
            let group = "kind=noop&queue=default&fingerprint=" + Dashboard.encoded("no mailbox #")
            let plan = try await page.send("GET", "/failures/discard?\(group)", headers: page.cookie).text
            #expect(plan.contains("5 more match") && plan.contains("Discard all in the background"), "\(plan)")
            let reply = try await page.post("/failures/discard", "action=bulk&\(group)&reason=they+left")
            #expect(reply.headers["location"] == "/failures?done=bulk")
            var shown = try await page.send("GET", "/failures", headers: page.cookie).text
            #expect(shown.contains("Discard 1 <span class=\"tag busy\">waiting</span>"))
            let stop = try await page.post("/failures/bulk", "action=stop&bulk=1&reason=the+wrong+ones")
            #expect(stop.headers["location"] == "/failures?done=bulk-stop")
            shown = try await page.send("GET", "/failures", headers: page.cookie).text
            #expect(shown.contains("Discard 1 <span class=\"tag held\">stopped</span>"))
            #expect(!shown.contains("action=\"/failures/bulk\""))
            #expect(
                try await page.rows("select action, person || ': ' || reason from errand.audit order by id")
                    == ["start_bulk alice: they left", "stop_bulk alice: the wrong ones"])
        }
    }
}
