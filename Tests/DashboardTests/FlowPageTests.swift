import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Dashboard

@Suite("What the page shows of jobs that wait for jobs, signals and keys") struct FlowPageTests {
    @Test("a job's page links what it waits for and what waits for it, with states, and its keys")
    func neighbours() async throws {
        try await withOperator { page in
            let ids = try await page.diamond()
            let shown = try await page.shown("/jobs/\(ids[3])")
            for id in ids[1...2] { #expect(shown.contains(#"<li><a href="/jobs/\#(id)">job \#(id)</a> noop <span"#)) }
            #expect(shown.contains("If one fails, it is cancelled.") && shown.contains("/jobs/\(ids[3])/flow"))
            #expect(!shown.contains("Jobs that wait for it"))
            // The reason names the newest of them.
            #expect(shown.contains(#"the newest of them <a href="/jobs/\#(ids[2])">job \#(ids[2])</a> (parked)"#))
            let first = try await page.shown("/jobs/\(ids[0])")
            #expect(first.contains("Jobs that wait for it") && !first.contains("If one fails"))
            #expect(first.contains("<dt>Order key</dt><dd>customer/42</dd>"))
            #expect(first.contains("<dt>Rate</dt><dd>tenant/7</dd>"))
            let second = try await page.rows(
                "select job_id::text, state from errand.enqueue('noop', order_key => 'customer/42')")
            let id = try #require(second.first?.split(separator: " ").first)
            #expect(try await page.shown("/jobs/\(id)").contains(#"behind <a href="/jobs/\#(ids[0])">job"#))
        }
    }

    @Test("a flow of some dozens is drawn, a larger one is a table with an end, and one job is neither")
    func sizes() async throws {
        try await withOperator { page in
            let alone = try await page.job("select job_id from errand.enqueue('noop')")
            #expect(try await page.shown("/jobs/\(alone)/flow").contains("It waits for no job"))
            #expect(try await page.shown("/jobs/\(alone)").contains("id=\"flow\"") == false)
            let ids = try await page.diamond()
            let small = try await page.shown("/jobs/\(ids[0])/flow")
            #expect(small.components(separatedBy: "class=\"node ").count == 5)
            #expect(small.components(separatedBy: "class=\"edge\"").count == 5)
            #expect(small.contains(#"<a href="/jobs/\#(ids[0])" class="node calm own" aria-label="job"#), "\(small)")
            for (children, nodes, rows) in [(29, 30, 30), (Hardness.isFull ? 5000 : 250, 0, 200)] {
                let parent = try await page.fan(children)
                let shown = try await page.shown("/jobs/\(parent)/flow")
                #expect(shown.components(separatedBy: "class=\"node ").count == nodes + 1, "\(children)")
                #expect(shown.components(separatedBy: "<th scope=\"row\">").count == rows + 1, "\(children)")
                #expect(shown.contains("There are more.") == (children > 200))
                let list = try await page.shown("/jobs/\(parent)")
                #expect(list.components(separatedBy: "<li><a href=\"/jobs/").count == min(children, 50) + 1)
                #expect(list.contains("the first of them") == (children > 50))
            }
            #expect(try await page.send("GET", "/jobs/99999/flow", headers: page.cookie).status == 404)
        }
    }

    @Test("a signal is sent by the page once, to the wait that the form was about, on record with its reason")
    func approves() async throws {
        try await withOperator { page in
            let job = try await page.waiting(for: "approval/17")
            let shown = try await page.shown("/jobs/\(job)")
            #expect(shown.contains("Sends the signal <code>approval/17</code>"))
            let form = "action=approve&signal=approval/17&payload=\(Dashboard.encoded(#"{"approved": 1}"#))"
            let foreign = try await page.send("POST", "/jobs/\(job)", form: form + "&token=x", headers: page.cookie)
            #expect(foreign.status == 403)
            #expect(try await page.post("/jobs/\(job)", "\(form)nonsense").status == 422)
            let other = try await page.post("/jobs/\(job)", form.replacing("approval/17", with: "approval/18"))
            #expect(other.headers["location"] == "/jobs/\(job)?done=unchanged")
            #expect(try await page.page.state(of: job) == "parked")
            #expect(try await page.rows("select name, '' from errand.signal") == [])
            let sent = try await page.post("/jobs/\(job)", form + "&reason=it+is+right")
            #expect(sent.headers["location"] == "/jobs/\(job)?done=approve", "\(sent.text)")
            #expect(try await page.page.state(of: job) == "available")
            #expect(
                try await page.rows("select name, payload::text from errand.signal") == [
                    #"approval/17 {"approved": 1}"#
                ])
            #expect(try await page.post("/jobs/\(job)", form).headers["location"] == "/jobs/\(job)?done=unchanged")
            #expect(
                try await page.rows("select action, person || ': ' || reason from errand.audit")
                    == ["approve alice: it is right"])
            let after = try await page.shown("/jobs/\(job)")
            #expect(after.contains("it is right") && !after.contains("Sends the signal"))
            // What an endpoint is to call back with is no operator's to send.
            let callback = try await page.waiting(for: "callback/1.1.1")
            #expect(try await page.shown("/jobs/\(callback)").contains("Sends the signal") == false)
        }
    }

    @Test("recorded steps have a time and an attempt, and their content is for those who are logged in")
    func steps() async throws {
        try await withOperator { page in
            let job = try await page.page.fail(error: "no")
            try await page.database.execute(
                Statement(
                    """
                    insert into errand.step (job_id, recorded_at, name, output)
                    values ($1, now() - interval '1 min', 'charge', '{"charge": 17, "api_key": "hidden-canary"}'),
                        ($1, now(), 'letter', to_jsonb((select string_agg(md5(n::text), '') from generate_series(1, 999) as n))),
                        ($1, now() + interval '1 s', 'stamp', null)
                    """, [job]))
            let shown = try await page.shown("/jobs/\(job)")
            #expect(shown.contains("<strong>charge</strong>") && shown.contains("in attempt 1"))
            #expect(shown.contains("&quot;charge&quot;: 17") && !shown.contains("hidden-canary"))
            #expect(shown.components(separatedBy: "too large for this page").count == 2)
        }
        try await withPage(AccessRules()) { page in
            let job = try await page.fail(error: "no")
            try await page.database.execute(
                Statement("insert into errand.step (job_id, name, output) values ($1, 'canary', '\"canary\"')", [job]))
            let shown = try await page.send("GET", "/jobs/\(job)").text
            #expect(shown.contains("a step") && !shown.contains("canary") && !shown.contains("method=\"post\""))
            #expect(try await page.send("GET", "/jobs/\(job)/flow").status == 200)
        }
    }

    @Test("a key that a failed job blocks is listed with that job, which is retried or discarded there")
    func blocked() async throws {
        try await withOperator { page in
            #expect(try await page.shown("/limits").contains("No order key is blocked."))
            #expect(try await page.shown("/limits").contains("No rate of a key is set or in use."))
            let job = try await page.page.fail(error: "no stamp")
            try await page.database.execute(
                Statement(
                    """
                    insert into errand.order_slot (order_key, job_id, blocked_at)
                    values ('customer/42', $1, now() - interval '3 h')
                    """, [job]))
            try await page.database.execute(
                """
                insert into errand.order_job (order_key, job_id)
                select 'customer/42', job_id from errand.order_slot union all select 'customer/42', 900 + n from generate_series(1, 3) as n
                """)
            try await page.database.execute("select errand.set_key_rate('tenant/*', '1 minute', 30, 5)")
            let shown = try await page.shown("/limits")
            #expect(shown.contains(#"<th scope="row" class="note">customer/42</th>"#) && shown.contains("3 h ago"))
            #expect(shown.contains(#"<td class="n" data-label="Waiting">3</td>"#) && shown.contains("no stamp"))
            #expect(shown.contains(#"<form method="post" action="/jobs/\#(job)">"#))
            #expect(shown.contains("30 in 00:01:00, 5 at once"))
            let done = try await page.post("/jobs/\(job)", "action=discard&reason=the+customer+left")
            #expect(done.headers["location"] == "/jobs/\(job)?done=discard")
            #expect(try await page.shown("/limits").contains("No order key is blocked."))
        }
    }

    @Test("texts of strangers stay texts in drawings, lists and keys, and long ones end")
    func hostile() async throws {
        try await withOperator { page in
            let script = "<script>owned()</script>\"><img src=x onerror=owned()>{{{layout.formToken}}}"
            let long = script + String(repeating: "x", count: 10_000)
            let job = try await page.page.fail(error: long)
            let child = try await page.job(
                Statement(
                    """
                    insert into errand.job (queue, kind, state, parked_for, options, waiting_key)
                    values ($2, $2, 'parked', 'job:' || $1, jsonb_build_object('after', array[$1::bigint], 'order_key', $2), $2)
                    returning id
                    """, ["\(job)", long]))
            for statement in [
                "insert into errand.order_slot (order_key, job_id, blocked_at) values ($1, \(job), now())",
                "insert into errand.key_rate (per, spacing, grace, allowed, burst, rate_key) values ('1 s', 1, 1, 1, 1, $1)",
                "insert into errand.step (job_id, name) values (\(job), $1)",
                """
                insert into errand.signal_wait (job_id, until, name) values (\(child), now(), $1)
                """,
            ] { try await page.database.execute(Statement(statement, [long])) }
            try await page.database.execute("select nextval('errand.flows_begun')")
            let paths = ["/jobs/\(job)", "/jobs/\(child)", "/jobs/\(job)/flow", "/jobs/\(child)/flow", "/limits"]
            for path in paths {
                let reply = try await page.send("GET", path, headers: page.cookie)
                #expect(reply.status == 200 && !reply.text.contains("owned()<"), "\(path)")
                #expect(!reply.text.contains("<script>") && !reply.text.contains("<img"), "\(path)")
                #expect(!reply.text.contains("{{{layout.formToken}}}\""), "\(path)")
            }
            #expect(try await page.send("GET", "/limits", headers: page.cookie).text.count < 60_000)
        }
    }
}

extension Operator {
    func shown(_ path: String) async throws -> String { try await send("GET", path, headers: cookie).text }

    func job(_ sql: Statement) async throws -> Int64 { try await database.query(sql).scalar(Int64.self) }

    /// A job, two behind it, and one behind those two. Returns their ids.
    fileprivate func diamond() async throws -> [Int64] {
        try await database.query(
            """
            select array_agg(job_id order by ordinal)
            from errand.enqueue_many(
                '[{"kind": "noop", "order_key": "customer/42", "rate_key": "tenant/7"},
                  {"kind": "noop", "after_elements": [1]}, {"kind": "noop", "after_elements": [1]},
                  {"kind": "noop", "after_elements": [2, 3], "if_parent_fails": "cancel"}]')
            """
        ).scalar([Int64].self)
    }

    /// A job that others wait for. Returns its id.
    func fan(_ children: Int) async throws -> Int64 {
        try await job(
            Statement(
                """
                select min(job_id)
                from errand.enqueue_many(
                    '[{"kind": "noop"}]' || (
                        select jsonb_agg(jsonb_build_object('kind', 'noop', 'after_elements', array[1]))
                        from generate_series(1, $1)))
                """, [Int32(children)]))
    }

    /// A job that waits for a signal.
    func waiting(for name: String) async throws -> Int64 {
        let id = try await job("select job_id from errand.enqueue('noop')")
        _ = try await database.query(
            Statement(
                """
                select errand_internal.wait_for_signal(job, jsonb_build_object('for', $2), now() + interval '1 h')
                from errand.job
                where id = $1
                """, [id, name]))
        return id
    }
}
