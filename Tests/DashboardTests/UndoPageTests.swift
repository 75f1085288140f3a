import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Dashboard

@Suite("Actions are taken back on the page") struct UndoPageTests {
    @Test("an action is shown with what would go back and what not, and taken back with a reason, as errand_ops")
    func jobs() async throws {
        try await withOperator { page in
            let ids = try await page.cancelled(3)
            let action = try await page.job("select max(id) from errand.audit")
            #expect(try await page.shown("/audit").contains(#"href="/audit/\#(action)/undo" aria-label="Undo action"#))
            #expect(try await page.shown("/jobs/\(ids[0])").contains(#"href="/audit/\#(action)/undo""#))
            _ = try await page.database.query(Statement("select errand.retry(array[$1::bigint])", [ids[2]]))
            let path = "/audit/\(action)/undo"
            let plan = try await page.shown(path)
            #expect(plan.contains("<b>2 changes</b> would be taken back. 1 would not."), "\(plan)")
            #expect(plan.contains(#"<a href="/jobs/\#(ids[0])">job \#(ids[0])</a>"#) && plan.contains("the wrong ones"))
            #expect(plan.contains("its state is available now") && plan.contains("Undo 2 changes"))
            for (form, status) in [("action=undo", 422), ("reason=x", 404), ("action=redo&reason=x", 404)] {
                #expect(try await page.post(path, form).status == status, "\(form)")
            }
            let foreign = try await page.send(
                "POST", path, form: "action=undo&reason=x&token=wrong", headers: page.cookie)
            #expect(foreign.status == 403)
            #expect(try await page.page.state(of: ids[0]) == "cancelled")
            let done = try await page.post(path, "action=undo&reason=they+are+right")
            #expect(done.headers["location"] == "/audit?done=undone-2", "\(done.text)")
            for id in ids { #expect(try await page.page.state(of: id) == "available") }
            let after = try await page.shown("/audit?done=undone-2")
            #expect(after.contains("2 changes are taken back.") && after.contains("they are right"))
            #expect(try await page.shown(path).contains("nothing would go back"))
            #expect(
                try await page.post(path, "action=undo&reason=again").headers["location"] == "/audit?done=undo-none")
            // An undo is an action too.
            let undo = try await page.job("select max(id) from errand.audit")
            #expect(try await page.shown("/audit/\(undo)/undo").contains("<b>2 changes</b> would be taken back."))
            #expect(
                try await page.rows(
                    "select acting_as, person || ': ' || reason from errand.audit order by id desc limit 1")
                    == ["errand_ops alice: they are right"])
        }
    }

    @Test("a setting is shown as it is and as it would be, without what looks secret; many jobs end")
    func settings() async throws {
        try await withOperator { page in
            _ = try await page.post("/limits", "action=limit&name=tenant/1&allowed=3&reason=a")
            _ = try await page.post("/limits", "action=limit&name=tenant/1&allowed=7&reason=b")
            let limit = try await page.job("select max(id) from errand.audit")
            let plan = try await page.shown("/audit/\(limit)/undo")
            #expect(plan.contains("limit tenant/1") && plan.contains("&quot;max_running&quot;: 7"))
            #expect(plan.contains("&quot;max_running&quot;: 3") && plan.contains("Undo 1 change"))
            _ = try await page.database.query("select errand.put_schedule('s', 'every 3 min', 'noop', '{\"n\": 1}')")
            _ = try await page.database.query("select errand.pause_schedule('s', 'a holiday')")
            let pause = try await page.shown("/audit/\(limit + 2)/undo")
            #expect(pause.contains("&quot;paused_reason&quot;: &quot;a holiday&quot;") && !pause.contains("cron"))
            for payload in ["hunter22", "hunter23"] {
                _ = try await page.database.query(
                    Statement(
                        """
                        select errand.put_schedule('s', 'every 5 min', 'noop', jsonb_build_object('password', $1::text))
                        """, [payload]))
            }
            let schedule = try await page.job("select max(id) from errand.audit")
            let secret = try await page.shown("/audit/\(schedule)/undo")
            #expect(secret.contains("schedule s") && secret.contains("••••••••") && !secret.contains("hunter2"))
            _ = try await page.cancelled(120)
            let many = try await page.job("select max(id) from errand.audit")
            let long = try await page.shown("/audit/\(many)/undo")
            #expect(long.contains("<b>120 changes</b>") && long.contains("These are the first of them."))
            #expect(long.components(separatedBy: "<th scope=\"row\" class=\"note\">").count == 51)
        }
    }

    @Test("what can't be undone has no button, and says why; nobody without a log-in has one or does it")
    func refused() async throws {
        try await withOperator { page in
            _ = try await page.database.query("select errand.put_schedule('s', 'every 5 min', 'noop')")
            _ = try await page.database.query("select errand.run_schedule('s', 'now')")
            let run = try await page.job("select max(id) from errand.audit")
            let shown = try await page.shown("/audit")
            #expect(!shown.contains("/audit/\(run)/undo") && shown.contains("/audit/\(run - 1)/undo"))
            let refused = try await page.send("GET", "/audit/\(run)/undo", headers: page.cookie)
            #expect(refused.status == 422 && refused.text.contains("expected one that can be undone, got run_schedule"))
            try await page.database.execute("update errand.action set done_at = now() - interval '8 days'")
            #expect(try await page.shown("/audit").contains("/undo") == false)
            #expect(try await page.send("GET", "/audit/\(run - 1)/undo", headers: page.cookie).status == 422)
            #expect(try await page.send("GET", "/audit/99999/undo", headers: page.cookie).status == 404)
        }
        try await withPage(AccessRules()) { page in
            _ = try await page.database.query("select errand.set_limit('canary', 3)")
            let action = try await page.database.query("select max(id) from errand.audit").scalar(Int64.self)
            #expect(try await page.send("GET", "/audit").text.contains("/undo") == false)
            #expect(try await page.send("GET", "/audit/\(action)/undo").status == 503)
            let form = "action=undo&reason=x"
            #expect(try await page.send("POST", "/audit/\(action)/undo", form: form).status == 403)
        }
    }

    @Test("texts of strangers stay texts in what an undo would do")
    func hostile() async throws {
        try await withOperator { page in
            let script = "<script>owned()</script>\"><img src=x onerror=owned()>{{{layout.formToken}}}"
            _ = try await page.database.query(Statement("select errand.set_limit($1, 3, $1)", [script]))
            _ = try await page.database.query(
                Statement("select errand.put_schedule('s', 'every 5 min', 'noop', to_jsonb($1::text))", [script]))
            for action in try await page.rows("select id::text, null from errand.audit") {
                let id = action.trimmingCharacters(in: .whitespaces)
                let shown = try await page.shown("/audit/\(id)/undo")
                #expect(shown.contains("&lt;script&gt;owned()") && !shown.contains("<script>owned"), "\(shown)")
                #expect(!shown.contains("<img") && !shown.contains("{{{layout.formToken}}}\""))
            }
        }
    }
}

extension Operator {
    /// Jobs that one action has cancelled.
    fileprivate func cancelled(_ count: Int) async throws -> [Int64] {
        let ids = try await database.query(
            Statement(
                """
                select array_agg(job_id order by job_id)
                from errand.enqueue_many(
                    (select jsonb_agg('{"kind": "noop"}'::jsonb) from generate_series(1, $1)))
                """, [Int32(count)])
        ).scalar([Int64].self)
        _ = try await database.query(Statement("select errand.cancel($1, 'the wrong ones')", [ids]))
        return ids
    }
}
