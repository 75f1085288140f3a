import ErrandTestKit
import NIOHTTP1
import Postgres
import Testing

@Suite("The HTTP API has what SQL has for flows, keys and batches") struct FlowAPITests {
    @Test("a job waits for others, is one of an order and a rate, and its keys are the token's own")
    func options() async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            let first = try #require(try await api.enqueue(#"{"kind": "noop"}"#, token).id)
            let child = try await api.enqueue(
                #"{"kind": "noop", "after": [\#(first)], "if_parent_fails": "cancel", "rate_key": "ada"}"#, token)
            #expect(child.status == 201 && child.field("state") == "parked")
            for state in ["available", "parked"] {
                let ordered = try await api.enqueue(
                    #"{"kind": "noop", "order_key": "ada", "if_head_fails": "go_on"}"#, token)
                #expect(ordered.field("state") == state)
            }
            let stored = try await api.database.value(
                """
                select string_agg(concat_ws(' ', options ->> 'after', options ->> 'if_parent_fails', rate_key,
                    options ->> 'order_key', options ->> 'if_head_fails'), ',' order by id)
                from errand.jobs where id > \(first)
                """)
            #expect(stored == "[\(first)] cancel shop/ada,shop/ada go_on,shop/ada go_on")
            let cancelled = try await api.send(.DELETE, "/v1/jobs/\(first)", token)
            #expect(cancelled.status == 200)
            let id = try #require(child.id)
            #expect(try await api.send(.GET, "/v1/jobs/\(id)", token).field("state") == "cancelled")
        }
    }

    @Test("a unique key is debounced, merged, superseded and taken for a time")
    func unique() async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            let rows = [
                (#""on_conflict": "merge", "payload": {"a": 1}"#, 201),
                (#""on_conflict": "merge", "payload": {"b": 2}"#, 200),
                (#""on_conflict": "reschedule", "delay_s": 900, "no_later_than_s": 60"#, 200),
                (#""on_conflict": "error""#, 409), (#""unique_while": "waiting""#, 200),
            ]
            for (fields, status) in rows {
                let response = try await api.enqueue(#"{"kind": "noop", "unique_key": "k", \#(fields)}"#, token)
                #expect(response.status == status, "\(fields)")
            }
            let stored = try await api.database.value(
                """
                select concat_ws('|', payload, unique_key, waiting_key, state, run_at < now() + interval '61 s')
                from errand.jobs
                """)
            #expect(stored == #"{"a": 1, "b": 2}|shop/k|shop/k|scheduled|t"#)
            let once = #"{"kind": "noop", "unique_key": "once", "unique_for_s": 3600}"#
            let id = try #require(try await api.enqueue(once, token).id)
            _ = try await api.database.query(
                "select errand.done(array_agg(token)) from errand.pull('{default}', '{noop}')")
            let again = try await api.enqueue(once, token)
            #expect(again.status == 200 && again.id == id && again.field("state") == "succeeded")
            let newest = #"{"kind": "noop", "unique_key": "newest", "on_conflict": "supersede"}"#
            let old = try #require(try await api.enqueue(newest, token).id)
            _ = try await api.database.query("select from errand.pull('{default}', '{noop}')")
            let superseding = try await api.enqueue(newest, token)
            #expect(superseding.status == 201 && superseding.id != old)
            #expect(try await api.send(.GET, "/v1/jobs/\(old)", token).field("state") == "cancelled")
        }
    }

    @Test("what a request may not ask for is refused, and the problem names the field")
    func refused() async throws {
        try await withAPI { api in
            let (shop, mail) = (try await api.token("shop"), try await api.token("mail"))
            let foreign = try #require(try await api.enqueue(#"{"kind": "noop"}"#, mail).id)
            let batch = try #require(try await api.send(.POST, "/v1/batches", mail, json: #"{"name": "b"}"#).id)
            _ = try await api.database.query("select errand.enqueue('noop', unique_key => 'shop/taken')")
            _ = try await api.database.query("select errand.put_kind('paced', order_key => 'o')")
            _ = try await api.database.query("update errand.kind set rate_key = 'r' where name = 'paced'")
            for (what, kind, fields, status, detail) in [
                ("another token's job", "noop", #""after": [\#(foreign)]"#, 404, "after: "),
                ("a job that never was", "noop", #""after": [4711000]"#, 404, "after: "),
                ("another token's batch", "noop", #""batch": \#(batch)"#, 404, "batch: "),
                ("the rate of a kind", "paced", #""rate_key": "x""#, 403, "rate_key: "),
                ("the order of a kind", "paced", #""order_key": "x""#, 403, "order_key: "),
                ("what failures of a kind do", "paced", #""if_head_fails": "go_on""#, 403, "if_head_fails: "),
                (
                    "the key of a job of others", "noop", #""unique_key": "taken", "on_conflict": "supersede""#, 409,
                    "unique_key: "
                ),
                ("no key", "noop", #""no_later_than_s": 9"#, 422, "no_later_than: "),
                ("a time that is none", "noop", #""run_at": "2030-02-31T00:00:00Z""#, 422, "run_at: "),
            ] {
                let refused = try await api.enqueue(#"{"kind": "\#(kind)", \#(fields)}"#, shop)
                #expect(refused.status == status, "\(what)")
                #expect(refused.field("detail")?.contains("enqueue: " + detail) == true, "\(what): \(refused.text)")
            }
            let both = try await api.enqueue(#"{"kind": "noop", "unique_key": "x"}"#, shop, key: "y")
            #expect(both.status == 422 && both.text.contains("unique_key: expected no Idempotency-Key"))
            #expect(try await api.database.value("select count(*) from errand.jobs") == "2")
        }
    }

    @Test("a batch is opened, filled, closed, cancelled and retried, and the job of its callback is the token's")
    func batch() async throws {
        try await withAPI { api in
            let token = try await api.token("shop", kinds: ["noop"], queues: ["default"])
            let opened = try await api.send(
                .POST, "/v1/batches", token,
                json: #"{"name": "b", "on_finish": {"kind": "noop", "priority": 1}, "properties": {"file": 7}}"#)
            let id = try #require(opened.id)
            let path = "/v1/batches/\(id)"
            #expect(opened.status == 201 && opened.headers["Location"] == [path] && opened.field("state") == "open")
            for _ in 0..<2 {
                #expect(try await api.enqueue(#"{"kind": "noop", "batch": \#(id)}"#, token).status == 201)
            }
            for (method, path, state, changed, waiting) in [
                (HTTPMethod.DELETE, path + "?reason=wrong+file", "closed", "2", "0"),
                (.DELETE, path, "closed", "0", "0"), (.POST, path + "/retry", "closed", "2", "2"),
                (.POST, path + "/close", "closed", "0", "2"), (.DELETE, path, "closed", "2", "0"),
            ] {
                let batch = try await api.send(method, path, token)
                #expect(batch.status == 200 && batch.field("state") == state, "\(method) \(path)")
                #expect(batch.field("changed") == changed && batch.field("waiting") == waiting, "\(method) \(path)")
            }
            var batch = try await api.send(.GET, path, token)
            while batch.field("state") != "ended" {
                _ = try await api.database.query("select errand_internal.check_batches()")
                batch = try await api.send(.GET, path, token)
            }
            #expect(batch.status == 200 && batch.field("outcome") == "failed" && batch.field("total") == "2")
            let callback = try #require(batch.field("finish_job_id"))
            #expect(try await api.send(.GET, "/v1/jobs/\(callback)", token).field("state") == "available")
            #expect(try await api.enqueue(#"{"kind": "noop", "batch": \#(id)}"#, token).status == 409)
            let audit = """
                select string_agg(concat_ws(' ', action, person, reason), ',' order by id) from errand.audit
                where action like 'batch%'
                """
            #expect(
                try await api.database.value(audit)
                    == "batch_cancel token shop wrong file,batch_retry token shop retried by HTTP,"
                    + "batch_cancel token shop cancelled by HTTP")
        }
    }

    @Test("a batch of another token is unknown, and callbacks are bound as jobs are")
    func batchesOfOthers() async throws {
        try await withAPI { api in
            let (shop, mail) = (
                try await api.token("shop", kinds: ["noop"], queues: ["default"]), try await api.token("mail")
            )
            let id = try #require(try await api.send(.POST, "/v1/batches", shop, json: #"{"name": "b"}"#).id)
            let path = "/v1/batches/\(id)"
            for (method, path) in [
                (HTTPMethod.GET, path), (.DELETE, path), (.POST, path + "/close"), (.POST, path + "/retry"),
            ] {
                #expect(try await api.send(method, path, mail).status == 404, "\(method) \(path)")
                #expect(try await api.send(method, path).status == 401, "\(method) \(path)")
            }
            for (json, status) in [
                (#"{"name": "b", "on_finish": {"kind": "other"}}"#, 403),
                (#"{"name": "b", "on_failure": {"kind": "noop", "queue": "mail"}}"#, 403),
                (#"{"name": "b", "on_success": {"kind": "noop", "kind": "other"}}"#, 422),
                (#"{"name": "b", "on_success": {"kind": "noop", "limit_key": "x"}}"#, 400),
                (#"{"name": "b", "on_success": "noop"}"#, 400), (#"{"name": "b", "owner": "x"}"#, 400),
                (#"{"name": "b", "properties": [1]}"#, 422), ("{}", 400),
            ] {
                let refused = try await api.send(.POST, "/v1/batches", shop, json: json)
                #expect(refused.status == status, "\(json): \(refused.text)")
            }
            #expect(try await api.database.value("select count(*) from errand.batches where state = 'open'") == "1")
        }
    }
}
