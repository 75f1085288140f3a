import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Dashboard

@Suite("What the page shows and does of batches") struct BatchPageTests {
    @Test("batches are listed, the newest first, with links to their jobs, page after page")
    func list() async throws {
        try await withOperator { page in
            #expect(try await page.shown("/batches").contains("No batch is on record."))
            let batch = try await page.batch()
            try await page.database.execute(
                """
                insert into errand.batch (id, owner, name, opened_at, closed_at, ended_at, outcome, total)
                select -n, 'postgres', 'old', now(), now(), now(), 'succeeded', 0 from generate_series(1, 60) as n
                """)
            let first = try await page.shown("/batches")
            #expect(first.components(separatedBy: #"<th scope="row"><a href="/batches/"#).count == 26)
            let top = try #require(first.range(of: #"<th scope="row"><a href="/batches/\#(batch.id)">"#))
            #expect(first[..<top.lowerBound].contains("<th scope=\"row\">") == false)
            #expect(first.contains(#"<progress max="100" value="40" aria-label="progress of batch \#(batch.id)">40 %"#))
            #expect(first.contains(#"href="/jobs?batch=\#(batch.id)&amp;state=failed">1</a>"#))
            #expect(first.contains(#"<span class="tag calm">open</span>"#) && first.contains("no jobs"))
            #expect(first.contains("<a rel=\"next\" href=\"/batches?before=-24\">") && !first.contains(">Newest<"))
            let last = try await page.shown("/batches?before=-49")
            #expect(last.components(separatedBy: #"<th scope="row"><a href="/batches/-"#).count == 12)
            #expect(last.contains(">Newest<") && !last.contains("rel=\"next\""))
        }
    }

    @Test("a batch has its progress, counts, callbacks and properties, and its jobs lead to it and back")
    func one() async throws {
        try await withOperator { page in
            let batch = try await page.batch()
            let shown = try await page.shown("/batches/\(batch.id)")
            #expect(shown.contains("<span class=\"kind\">import</span>") && shown.contains("40 %"))
            #expect(shown.contains("When all have ended: tell_all <span class=\"dim\">not yet</span>"))
            #expect(shown.contains("&quot;file&quot;: 7") && shown.contains("••••••••") && !shown.contains("hunter22"))
            #expect(
                shown.contains(#"<dt>Succeeded</dt>"#) == false && shown.contains(#"state=succeeded">Succeeded</a>"#))
            #expect(shown.contains("data-live"))
            for (state, count) in [("", 5), ("&state=failed", 1), ("&state=available", 3), ("&state=parked", 0)] {
                let link = "/jobs?batch=\(batch.id)\(state.replacing("&", with: "&amp;"))\""
                #expect(shown.contains(link), "\(state)")
                let list = try await page.shown("/jobs?batch=\(batch.id)\(state)")
                #expect(list.components(separatedBy: "<th scope=\"row\">").count == count + 1, "\(state)")
            }
            let job = try await page.shown("/jobs/\(batch.jobs[2])")
            #expect(job.contains(#"<dt>Batch</dt><dd><a href="/batches/\#(batch.id)">\#(batch.id)</a></dd>"#))
            #expect(try await page.send("GET", "/batches/999999", headers: page.cookie).status == 404)
            #expect(try await page.send("GET", "/jobs?batch=x", headers: page.cookie).status == 422)
        }
        try await withPage(AccessRules()) { page in
            let batch = try await page.batch()
            let shown = try await page.send("GET", "/batches/\(batch.id)").text
            #expect(shown.contains("40 %") && !shown.contains("file") && !shown.contains("/cancel"))
            #expect(try await page.send("GET", "/batches").text.contains("import"))
            for action in ["cancel", "retry"] {
                #expect(try await page.send("GET", "/batches/\(batch.id)/\(action)").status == 503)
                let form = "action=\(action)&reason=x"
                #expect(try await page.send("POST", "/batches/\(batch.id)/\(action)", form: form).status == 403)
            }
        }
    }

    @Test("what is left is cancelled and what failed retried, after a dry run, with a reason and the form's token")
    func acts() async throws {
        try await withOperator { page in
            let batch = try await page.batch()
            let cancel = "/batches/\(batch.id)/cancel"
            let retry = "/batches/\(batch.id)/retry"
            let plan = try await page.shown(cancel)
            #expect(plan.contains("<b>3 jobs</b> would be cancelled.") && plan.contains("it is closed first"))
            #expect(plan.contains("publish isn&#39;t enqueued") || plan.contains("publish isn't enqueued"))
            #expect(plan.contains("Enqueued instead: tell_sender and tell_all.") && !plan.contains("background"))
            for (form, status) in [
                ("action=cancel", 422), ("action=bulk", 422), ("reason=x", 404), ("action=retry&reason=x", 404),
            ] {
                #expect(try await page.post(cancel, form).status == status, "\(form)")
            }
            let foreign = try await page.send(
                "POST", cancel, form: "action=cancel&reason=x&token=wrong", headers: page.cookie)
            #expect(foreign.status == 403)
            #expect(
                try await page.rows("select state, waiting::text from errand.batch_status(\(batch.id))") == ["open 3"])
            #expect(try await page.rows("select action, '' from errand.audit") == [])
            let done = try await page.post(cancel, "action=cancel&reason=the+wrong+file")
            #expect(done.headers["location"] == "/batches/\(batch.id)?done=cancelled-3", "\(done.text)")
            #expect(
                try await page.rows("select state, waiting::text from errand.batch_status(\(batch.id))") == ["closed 0"]
            )
            #expect(try await page.shown("/batches/\(batch.id)?done=cancelled-3").contains("3 jobs are cancelled."))
            #expect(try await page.shown(cancel).contains("No job of it is left."))
            #expect(try await page.shown(retry).contains("<b>4 jobs</b> would wait again, all now."))
            let back = try await page.post(retry, "action=retry&reason=the+right+file")
            #expect(back.headers["location"] == "/batches/\(batch.id)?done=retried-4")
            #expect(
                try await page.post(retry, "action=retry&reason=again").headers["location"]?.hasSuffix("none") == true)
            #expect(
                try await page.rows("select action, person || ': ' || reason from errand.audit order by id")
                    == ["batch_cancel alice: the wrong file", "batch_retry alice: the right file"])
            #expect(try await page.send("GET", "/batches/999999/cancel", headers: page.cookie).status == 404)
        }
    }

    @Test("more jobs than one action takes are cancelled in the background, those of the batch only")
    func bulk() async throws {
        try await withOperator { page in
            let batch = try await page.job("select errand.batch_open('large')")
            _ = try await page.database.query(
                Statement(
                    """
                    select errand.enqueue_many(jsonb_agg(jsonb_build_object('kind', 'noop', 'batch', $1::bigint)))
                    from generate_series(1, 5001), generate_series(1, 2) as half
                    group by half
                    """, [batch]))
            let other = try await page.job("select job_id from errand.enqueue('noop')")
            let shown = try await page.shown("/batches/\(batch)")
            #expect(shown.contains("at least 0 %") && shown.contains("10\u{202F}000 or more"))
            let plan = try await page.shown("/batches/\(batch)/cancel")
            #expect(plan.contains("<b>10\u{202F}000 jobs</b> would be cancelled. More are left."))
            let done = try await page.post("/batches/\(batch)/cancel", "action=bulk&reason=the+wrong+file")
            #expect(done.headers["location"] == "/failures?done=bulk", "\(done.text)")
            while try await page.database.query("select errand_internal.run_bulk(10000)").scalar(Bool.self) {}
            #expect(
                try await page.rows("select state, cancelled::text from errand.batch_status(\(batch))")
                    == ["closed 10002"])
            #expect(try await page.page.state(of: other) == "available")
            #expect(try await page.shown("/batches/\(batch)").contains("10\u{202F}000"))
        }
    }

    @Test("texts of strangers stay texts in the list, on the page and in plans, and long ones end")
    func hostile() async throws {
        try await withOperator { page in
            let script = "<script>owned()</script>\"><img src=x onerror=owned()>{{{layout.formToken}}}"
            let batch = try await page.job(
                Statement(
                    """
                    insert into errand.batch (id, owner, name, properties, on_success, on_finish, on_failure, outcome)
                    select 7, $1, $1, jsonb_build_object($1, $1), called, called, called, $1
                    from (select jsonb_build_object('kind', $1) as called) as callback
                    returning id
                    """, [script + String(repeating: "x", count: 10_000)]))
            try await page.database.execute(
                """
                insert into errand.batch_jobs (batch_id, last_id, first_id) values (7, 9, 8)
                """)
            try await page.database.execute(
                "insert into errand.job (id, queue, kind, options, queue_position) values (9, 'a', 'a', '{\"batch\": 7}', 1)"
            )
            for path in ["/batches", "/batches/\(batch)", "/batches/\(batch)/cancel", "/jobs/9"] {
                let reply = try await page.send("GET", path, headers: page.cookie)
                #expect(reply.status == 200 && !reply.text.contains("owned()<"), "\(path)")
                #expect(!reply.text.contains("<script>") && !reply.text.contains("<img"), "\(path)")
                #expect(!reply.text.contains("{{{layout.formToken}}}\""), "\(path)")
            }
            #expect(try await page.shown("/batches").count < 20_000)
        }
    }
}

extension Page {
    /// An open batch of five jobs: one has succeeded, one failed, and three wait.
    fileprivate func batch() async throws -> (id: Int64, jobs: [Int64]) {
        let id = try await database.query(
            """
            select errand.batch_open(
                'import', on_success => '{"kind": "publish"}', on_finish => '{"kind": "tell_all"}',
                on_failure => '{"kind": "tell_sender"}', properties => '{"file": 7, "password": "hunter22"}')
            """
        ).scalar(Int64.self)
        let jobs = try await database.query(
            Statement(
                """
                select array_agg(job_id order by job_id)
                from errand.enqueue_many(
                    (
                        select jsonb_agg(jsonb_build_object('kind', 'noop', 'batch', $1::bigint))
                        from generate_series(1, 5)))
                """, [id])
        ).scalar([Int64].self)
        try await database.execute(
            Statement(
                """
                with gone as (
                    delete from errand.job where id = any ($1) returning id, created_at, run_at, options
                ),
                succeeded as (
                    insert into errand.history (
                        id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, state, queue, kind,
                        payload, options)
                    select id, created_at, run_at, now(), 2, 1, 1, 0, 'succeeded', 'default', 'noop', '{}', options
                    from gone
                    where id = $1[1]
                ),
                noted as (
                    insert into errand.batch_failure (batch_id, job_id, state)
                    values ($2, $1[2], 'failed')
                )
                insert into errand.failed (
                    id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload,
                    error, options)
                select id, created_at, run_at, now(), 2, 1, 1, 0, 'default', 'noop', '{}', 'no', options
                from gone
                where id = $1[2]
                """, [Array(jobs.prefix(2)), id]))
        return (id, jobs)
    }
}

extension Operator {
    fileprivate func batch() async throws -> (id: Int64, jobs: [Int64]) { try await page.batch() }
}
