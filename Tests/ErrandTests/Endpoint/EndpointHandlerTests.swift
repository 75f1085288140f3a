import ErrandTestKit
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("Endpoints that handle jobs") struct EndpointHandlerTests {
    @Test("each reply of an endpoint ends its attempt, and opens the endpoint's circuit if it says so")
    func replies() async throws {
        let replies: [(EndpointReply, ends: String, circuit: String)] = [
            (.done(output: JSONB(#"{"id": 12345678901234567890}"#)), #"succeeded|1|{"id": 12345678901234567890}|"#, ""),
            (.done(output: nil), "succeeded|1||", ""),
            (.refused(reason: "status 400", cause: "status 400"), "failed|1||status 400", ""),
            (.failed(reason: "status 500", cause: "status 500"), "scheduled|1||status 500", ""),
            (.unavailable(reason: "refused"), "parked|0||", "closed|||refused"),
            (.busy(for: .seconds(600), reason: "status 429"), "parked|0||", "open|handler|600|status 429"),
            (.gone(reason: "status 410"), "parked|0||", "open|handler||status 410"),
        ]
        for (reply, ends, circuit) in replies {
            try await withEndpointWorker(replying: { _, _ in reply }) { database, endpoints in
                try await database.execute("select errand.enqueue('order', '{\"item\": 1.50}')")
                #expect(
                    try await database.becomes(
                        "count(*) = 1 from errand.jobs where state not in ('available', 'running')"),
                    "\(reply)")
                let end = "select state, attempt, output, attempts -> -1 ->> 'error' from errand.jobs"
                #expect(try await database.text(end) == ends)
                let seen = """
                    select state, opened_by, round(extract(epoch from until - opened_at)), reason from errand.circuits
                    where name = 'endpoint.shop'
                    """
                #expect(try await database.text(seen) == circuit)
                #expect(endpoints.requests.count == 1)
                #expect(endpoints.requests[0].payload.text == #"{"item": 1.50}"#)
            }
        }
    }

    @Test("while an endpoint is gone no job of it starts; once an operator has closed the circuit all do")
    func gone() async throws {
        let isBack = Atomic(false)
        let reply: @Sendable (Database, EndpointRequest) async -> EndpointReply = { _, _ in
            isBack.load(ordering: .relaxed) ? .done(output: nil) : .gone(reason: "status 410")
        }
        try await withEndpointWorker(replying: reply) { database, endpoints in
            try await database.execute("select errand.enqueue('order')")
            #expect(try await database.becomes("count(*) = 1 from errand.job where state = 'parked'"))
            try await database.execute("select errand.enqueue('order') from generate_series(1, 3)")
            #expect(try await database.becomes("count(*) = 4 from errand.job where state = 'parked'"))
            try await database.promote()
            #expect(endpoints.requests.count == 1)
            let health = "select detail from errand.health() where check_name = 'endpoints' and not ok"
            #expect(
                try await database.text(health)
                    == "shop: its circuit is open until an operator closes it: errand.circuit_close")
            // A test is posted all the same.
            isBack.store(true, ordering: .relaxed)
            let test = try await database.query("select errand.test_endpoint('shop')").scalar(Int64.self)
            #expect(try await database.becomes("state = 'succeeded' from errand.jobs where id = \(test)"))
            #expect(
                try await database.text("select output ->> 'reply' from errand.history where id = \(test)") == "done")
            #expect(endpoints.requests.last?.payload.text == #"{"type": "errand.test"}"#)
            #expect(try await database.count("from errand.job where state = 'parked'") == 4)
            try await database.execute("select errand.circuit_close('endpoint.shop')")
            #expect(try await database.reaches("not exists (select from errand.job)"))
            #expect(endpoints.requests.count == 6)
        }
    }

    @Test("a test whose reply is no success fails at once, with the reason")
    func tested() async throws {
        let reply = EndpointReply.busy(for: .seconds(600), reason: "status 503")
        try await withEndpointWorker(replying: { _, _ in reply }) { database, _ in
            try await database.execute("select errand.test_endpoint('shop')")
            #expect(try await database.becomes("exists (select from errand.failed)"))
            #expect(try await database.text("select attempt, error from errand.failed") == "1|status 503")
            #expect(try await database.count("from errand.circuits where state = 'open'") == 0)
            try await database.execute("select errand.put_endpoint('other', 'https://other.example', 'other')")
            #expect(
                try await database.becomes(
                    "exists (select from errand.workers where 'endpoint.other' = any (kinds))"))
        }
    }

    @Test("an endpoint that is moved or given to a new kind is known to a running worker")
    func changes() async throws {
        try await withEndpointWorker(replying: { _, _ in .done(output: nil) }) { database, endpoints in
            try await database.execute("select errand.enqueue('order')")
            #expect(try await database.drains())
            try await database.execute("select errand.put_endpoint('shop', 'https://new.example/', 'shop')")
            try await database.execute("select errand.put_http_handler('refund', 'shop', max_attempts => 3)")
            try await database.execute("select errand.enqueue('refund')")
            #expect(try await database.drains())
            #expect(endpoints.urls == ["https://shop.example/jobs?key=k", "https://new.example/"])
            #expect(endpoints.requests.last?.kind == "refund")
            #expect(endpoints.requests.last?.maxAttempts == 3)
            #expect(try await database.text("select errand.drop_handler('refund')") == "true")
            #expect(
                try await database.becomes(
                    "coalesce(bool_and('refund' <> all (kinds)), false) from errand.worker"))
        }
    }

    @Test("a worker that calls no endpoints leaves their jobs and has no key, and health says so")
    func without() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_endpoint('shop', 'https://shop.example/jobs', 'shop')")
            try await database.execute("select errand.put_http_handler('order', 'shop')")
            try await database.execute("select errand.enqueue('order'), errand.enqueue('noop')")
            try await database.runsWorker(calling: nil) {
                try await database.waits(for: "(select count(*) = 1 from errand.job)")
                #expect(try await database.text("select kind, state from errand.job") == "order|available")
                let problem = "no live worker calls endpoints: start `errand worker` with ERRAND_ENDPOINT_SECRETS"
                #expect(try await database.text("select problem from errand.endpoints") == problem)
                #expect(
                    try await database.text("select detail from errand.health() where check_name = 'endpoints'")
                        == "shop: \(problem)")
            }
            let registered = """
                select endpoints, callback_key
                from errand_internal.register_worker_v1('w', '1', '20 s', '{default}', '[]')
                """
            #expect(try await database.text(registered) == "|")
        }
    }

    @Test("no more requests run at once than the endpoint allows")
    func limited() async throws {
        let requests = Mutex((running: 0, most: 0))
        let reply: @Sendable (Database, EndpointRequest) async throws -> EndpointReply = { _, _ in
            requests.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) }
            try await Task.sleep(for: .milliseconds(20))
            requests.withLock { $0.running -= 1 }
            return .done(output: nil)
        }
        try await withEndpointWorker(replying: reply) { database, endpoints in
            try await database.execute(
                "select errand.put_endpoint('shop', 'https://shop.example/jobs', 'shop', max_running => 2)")
            try await database.execute("select errand.enqueue('order') from generate_series(1, 10)")
            #expect(try await database.reaches("not exists (select from errand.job)"))
            #expect(endpoints.requests.count == 10)
            #expect((1...2).contains(requests.withLock(\.most)))
        }
    }
}
