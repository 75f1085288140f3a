import API
import Errand
import ErrandTestKit
import Foundation
import MetricsTestKit
import NIOCore
import NIOHTTP1
import Postgres
import Testing

@Suite("The HTTP API") struct APITests {
    @Test("a job is enqueued, seen and cancelled")
    func job() async throws {
        try await withAPI { api in
            let token = try await api.token("shop", kinds: ["sum"])
            let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
            let enqueued = try await api.send(
                .POST, "/v1/jobs", token,
                json: """
                    {"kind": "sum", "payload": {"n": 12345678901234567890}, "queue": "mail", "priority": 1,
                     "max_attempts": 3, "delay_s": 3600, "not_after": "2100-01-01T00:00:00Z", "tags": ["a", "b"],
                     "subject": "ada"}
                    """, headers: [("traceparent", traceparent)])
            #expect(enqueued.status == 201 && enqueued.field("state") == "scheduled")
            let id = try #require(enqueued.id)
            #expect(enqueued.headers["Location"] == ["/v1/jobs/\(id)"])
            let stored = try await api.database.value(
                """
                select concat_ws('|', payload, queue, priority, max_attempts, tags, subject, options ->> 'traceparent',
                    run_at > now() + interval '59 min', not_after = '2100-01-01Z')
                from errand.jobs
                """)
            #expect(stored == "{\"n\": 12345678901234567890}|mail|1|3|{a,b}|ada|\(traceparent)|t|t")
            let seen = try await api.send(.GET, "/v1/jobs/\(id)", token)
            #expect(seen.status == 200 && seen.field("kind") == "sum" && seen.field("finished_at") == nil)
            #expect(seen.field("created_at")?.hasSuffix("+00:00") == true)
            for _ in 0..<2 {
                let cancelled = try await api.send(.DELETE, "/v1/jobs/\(id)?reason=no+longer%21", token)
                #expect(cancelled.status == 200 && cancelled.field("state") == "cancelled")
                #expect(cancelled.field("error") == "no longer!")
            }
        }
    }

    @Test("a repeated call with an Idempotency-Key returns the same job, also after its end")
    func idempotent() async throws {
        try await withAPI { api in
            let (shop, mail) = (try await api.token("shop"), try await api.token("mail"))
            let first = try await api.enqueue(#"{"kind": "noop", "payload": {"a": 1, "b": [2]}}"#, shop, key: "k")
            #expect(first.status == 201)
            for _ in 0..<2 {
                let again = try await api.enqueue(#"{"payload": {"b": [2.0], "a": 1}, "kind": "noop"}"#, shop, key: "k")
                #expect(again.status == 200 && again.id == first.id)
                #expect(again.headers["Location"] == first.headers["Location"])
                let id = try #require(first.id)
                _ = try await api.database.query(Statement("select errand.cancel($1, 'x')", [[id]]))
            }
            #expect(try await api.enqueue(#"{"kind": "noop"}"#, shop, key: "k").status == 422)
            // Another token's key is another key.
            let other = try await api.enqueue(#"{"kind": "noop"}"#, mail, key: "k")
            #expect(other.status == 201 && other.id != first.id)
        }
    }

    @Test("who waits gets the job at its end, with its output or its error")
    func waits() async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            let ids = [
                try #require(try await api.enqueue(#"{"kind": "noop", "payload": {}}"#, token).id),
                try #require(try await api.enqueue(#"{"kind": "noop", "delay_s": 3600}"#, token).id),
            ]
            async let done = api.send(.GET, "/v1/jobs/\(ids[0])?wait=60s", token)
            async let cancelled = api.send(.GET, "/v1/jobs/\(ids[1])?wait=60s", token)
            let gauge = try api.metrics.expectGauge("errand_api_waits")
            while gauge.lastValue != 2 { try await Task.sleep(for: .milliseconds(10)) }
            _ = try await api.database.query(Statement("select errand.cancel($1, 'no longer')", [[ids[1]]]))
            _ = try await api.database.query(
                """
                select errand.done(array_agg(token), array['{"sum": 3}'::jsonb])
                from errand.pull('{default}', '{noop}')
                """)
            #expect(try await done.field("state") == "succeeded")
            #expect(try await done.text.contains(#""output": {"sum": 3}"#))
            #expect(try await cancelled.field("error") == "no longer")
        }
    }

    @Test("who waits longer than the job takes, or for a job that has ended, gets it as it is")
    func timeOut() async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            let id = try #require(try await api.enqueue(#"{"kind": "noop"}"#, token).id)
            let job = try await api.send(.GET, "/v1/jobs/\(id)?wait=1s", token)
            #expect(job.status == 200 && job.field("state") == "available")
            _ = try await api.database.query(Statement("select errand.cancel($1, 'x')", [[id]]))
            #expect(try await api.send(.GET, "/v1/jobs/\(id)?wait=60s", token).field("state") == "cancelled")
        }
    }

    @Test("the end of the server and of the caller end a wait")
    func stops() async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            let id = try #require(try await api.enqueue(#"{"kind": "noop"}"#, token).id)
            await #expect(throws: (any Error).self) {
                try await api.send(.GET, "/v1/jobs/\(id)?wait=60s", token, timeout: .seconds(1))
            }
            let gauge = try api.metrics.expectGauge("errand_api_waits")
            while gauge.lastValue != 0 { try await Task.sleep(for: .milliseconds(10)) }
            // The server stops while this one waits, and answers first.
            Task { try await api.send(.GET, "/v1/jobs/\(id)?wait=60s", token) }
            while gauge.lastValue != 1 { try await Task.sleep(for: .milliseconds(10)) }
        }
    }

    @Test("1,000 callers wait on two connections to the database, and each gets its job's end")
    func thousand() async throws {
        try await withAPI(connections: 1) { api in
            let token = try await api.token("shop")
            let ids = try await withThrowingTaskGroup(of: Int64.self) { group in
                for _ in 0..<1000 {
                    group.addTask { try #require(try await api.enqueue(#"{"kind": "noop"}"#, token).id) }
                }
                return try await group.reduce(into: [Int64]()) { $0.append($1) }
            }
            try await withThrowingTaskGroup(of: TestAPI.Response.self) { group in
                for id in ids { group.addTask { try await api.send(.GET, "/v1/jobs/\(id)?wait=60s", token) } }
                let gauge = try api.metrics.expectGauge("errand_api_waits")
                while gauge.lastValue != 1000 { try await Task.sleep(for: .milliseconds(10)) }
                let connections = """
                    select count(*) from pg_stat_activity
                    where datname = current_database() and application_name = 'errand api'
                    """
                #expect(try await api.database.value(connections) == "2")
                _ = try await api.database.query(Statement("select errand.cancel($1, 'x')", [ids]))
                var states: [String: Int] = [:]
                for try await job in group { states[job.field("state") ?? "none", default: 0] += 1 }
                #expect(states == ["cancelled": 1000])
            }
        }
    }

    @Test("a database that is down is 503, to be tried again")
    func databaseDown() async throws {
        let nowhere = try PostgresConfiguration(url: "postgresql://somebody@127.0.0.1:1/nowhere")
        try await withAPI(on: nowhere) { api in
            let token = APIToken().text
            for refused in [
                try await api.enqueue(#"{"kind": "noop"}"#, token), try await api.send(.GET, "/v1/jobs/1", token),
                try await api.send(.POST, "/v1/signals/x", json: "{}"),
            ] {
                #expect(refused.status == 503 && refused.headers["Retry-After"] == ["1"])
                #expect(refused.field("code") == "unavailable" && !refused.text.contains("somebody"))
            }
            #expect(try await api.send(.GET, "/v1/openapi.json").status == 200)
            #expect(api.log.text.contains("could not serve") && !api.log.text.contains(token))
        }
    }

    @Test("the document has each operation, and the form of each request and response")
    func document() async throws {
        try await withAPI { api in
            let document = try await api.send(.GET, "/v1/openapi.json")
            #expect(document.status == 200 && document.headers["Content-Type"] == ["application/json"])
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(document.text.utf8)) as? [String: Any])
            #expect(object["openapi"] as? String == "3.1.0")
            let paths = try #require(object["paths"] as? [String: [String: Any]])
            #expect(
                paths.mapValues { $0.keys.sorted() } == [
                    "/v1/jobs": ["post"], "/v1/jobs/{id}": ["delete", "get"], "/v1/signals/{token}": ["post"],
                    "/v1/batches": ["post"], "/v1/batches/{id}": ["delete", "get"],
                    "/v1/batches/{id}/close": ["post"], "/v1/batches/{id}/retry": ["post"],
                    "/v1/openapi.json": ["get"],
                ])
            let schemas = (object["components"] as? [String: [String: Any]])?["schemas"]
            #expect(
                schemas?.keys.sorted() == [
                    "Batch", "BatchCallback", "ChangedBatch", "EnqueuedJob", "Job", "NewBatch", "NewJob",
                    "OpenedBatch", "Outcome", "Problem",
                ])
            let properties = (schemas?["NewJob"] as? [String: Any])?["properties"] as? [String: [String: Any]]
            // What operators alone decide, what the API sets itself, and what has another name here.
            let arguments = try await api.database.value(
                """
                select string_agg(name, ' ' order by name)
                from unnest((select proargnames from pg_proc where oid = 'errand.enqueue'::regproc)) as name
                where name not in ('limit_key', 'guard', 'kind_defaults', 'follow', 'options', 'job_id', 'inserted',
                    'state')
                """)
            let names = properties?.keys.map {
                $0.hasSuffix("_for_s") || $0.hasSuffix("_than_s") ? String($0.dropLast(2)) : $0
            }
            #expect(names?.filter { $0 != "delay_s" }.sorted().joined(separator: " ") == arguments)
            #expect(properties?["if_parent_fails"]?["enum"] as? [String] == ["wait", "go_on", "cancel"])
        }
    }

    @Test("requests are counted by operation and status")
    func counts() async throws {
        try await withAPI { api in
            let token = try await api.token("shop")
            _ = try await api.enqueue(#"{"kind": "noop"}"#, token)
            _ = try await api.enqueue(#"{"kind": "noop"}"#, "errand_x")
            for (status, count) in [("201", 1), ("401", 1)] {
                let counter = try api.metrics.expectCounter(
                    "errand_api_requests_total", [("operation", "enqueueJob"), ("status", status)])
                #expect(counter.totalValue == Int64(count))
            }
        }
    }
}
