import ErrandTestKit
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("Callbacks complete jobs that their endpoint has accepted") struct CallbackTests {
    /// Each attempt is accepted.
    private static let accepts: @Sendable (Database, EndpointRequest) async -> EndpointReply = { _, _ in .accepted }

    private func call(
        _ token: String, _ arguments: String = "'{}'", in database: Database
    ) async throws -> Bool {
        try await database.query(Statement("select errand.callback($1, \(arguments))", [token])).scalar(Bool.self)
    }

    @Test("an output completes the job as it is, without a second request; meanwhile it holds neither slot nor lease")
    func completes() async throws {
        try await withEndpointWorker(replying: Self.accepts) { database, endpoints in
            let id = try await database.query("select job_id from errand.enqueue('order')").scalar(Int64.self)
            #expect(try await database.becomes("exists (select from errand.job where state = 'parked')"))
            #expect(try await database.count("from errand.job where worker_id is not null or attempt > 0") == 0)
            #expect(try await database.text("select waiting from errand.endpoints") == "1")
            let explained = "select code from errand.explain(\(id)) where rank = 1"
            #expect(try await database.text(explained) == "waits_for_callback")
            let token = endpoints.requests[0].callbackToken
            #expect(try await call(token, #"'{"total": 12345678901234567890.50, "output": [null]}'"#, in: database))
            #expect(try await !call(token, error("late"), in: database))
            #expect(try await database.drains())
            #expect(
                try await database.text("select state, attempt, output from errand.history")
                    == #"succeeded|1|{"total": 12345678901234567890.50, "output": [null]}"#)
            #expect(endpoints.requests.count == 1)
            // A server that didn't get the reply asks again.
            #expect(try await !call(token, in: database))
        }
    }

    private func error(_ text: String, isPermanent: Bool = false) -> String {
        "error => '\(text)', permanent => \(isPermanent)"
    }

    @Test("one that comes before the answer counts as well as a later one")
    func early() async throws {
        try await withEndpointWorker { database, request in
            _ = try await database.query(Statement("select errand.callback($1, '7')", [request.callbackToken]))
            return .accepted
        } _: { database, endpoints in
            try await database.execute("select errand.enqueue('order')")
            #expect(try await database.drains())
            #expect(try await database.text("select state, output from errand.history") == "succeeded|7")
            #expect(endpoints.requests.count == 1)
        }
    }

    @Test("one without an output succeeds without one")
    func empty() async throws {
        try await withEndpointWorker(replying: Self.accepts) { database, endpoints in
            try await database.execute("select errand.enqueue('order')")
            #expect(try await database.becomes("exists (select from errand.job where state = 'parked')"))
            #expect(try await call(endpoints.requests[0].callbackToken, "null", in: database))
            #expect(try await database.drains())
            #expect(try await database.text("select state, output is null from errand.history") == "succeeded|true")
        }
    }

    @Test("after an error the job is posted again, with a token of its own; the earlier one is worth nothing then")
    func retried() async throws {
        try await withEndpointWorker(replying: Self.accepts) { database, endpoints in
            try await database.execute("select errand.enqueue('order')")
            #expect(try await database.becomes("exists (select from errand.job where state = 'parked')"))
            #expect(try await call(endpoints.requests[0].callbackToken, error("no stock"), in: database))
            #expect(try await database.becomes("exists (select from errand.job where state = 'scheduled')"))
            #expect(try await database.text("select attempts -> 0 ->> 'error' from errand.job") == "no stock")
            try await database.execute("update errand.job set run_at = now()")
            #expect(try await database.reaches("exists (select from errand.job where state = 'parked')"))
            let requests = endpoints.requests
            #expect(requests.map(\.attempt) == [1, 2])
            #expect(requests[0].callbackToken != requests[1].callbackToken)
            #expect(try await !call(requests[0].callbackToken, in: database))
            #expect(try await call(requests[1].callbackToken, error("never", isPermanent: true), in: database))
            #expect(try await database.becomes("exists (select from errand.failed)"))
            #expect(try await database.text("select attempt, error from errand.failed") == "2|never")
        }
    }

    @Test("a failed job that an operator retries is posted again, though its attempts count from 1 again")
    func retriedByHand() async throws {
        try await withEndpointWorker(replying: Self.accepts) { database, endpoints in
            let id = try await database.query("select job_id from errand.enqueue('order')").scalar(Int64.self)
            for posts in 1...2 {
                #expect(try await database.becomes("exists (select from errand.job where state = 'parked')"))
                #expect(endpoints.requests.map(\.attempt) == Array(repeating: 1, count: posts))
                let token = try #require(endpoints.requests.last?.callbackToken)
                #expect(try await call(token, error("never", isPermanent: true), in: database))
                #expect(try await database.becomes("exists (select from errand.failed)"))
                try await database.execute(Statement("select errand.retry(array[\(id)], 'the shop is back')"))
            }
        }
    }

    @Test("without one the attempt fails at its time, and is posted again")
    func missing() async throws {
        try await withEndpointWorker(replying: Self.accepts) { database, endpoints in
            #expect(try await database.becomes("exists (select from errand.worker)"))
            let before = try await database.query("select max(id) from errand.worker").scalar(Int64.self)
            try await database.execute(
                "select errand.put_endpoint('shop', 'https://shop.example', 'shop', callback_timeout => '1 s')")
            #expect(try await database.becomes("coalesce(max(id) > \(before), false) from errand.worker"))
            try await database.execute("select errand.enqueue('order')")
            #expect(try await database.reaches("attempts is not null from errand.job"))
            #expect(
                try await database.text("select attempts -> 0 ->> 'error' from errand.job")
                    == "no callback came within 1.0 seconds")
            try await database.execute("update errand.job set run_at = now() where state = 'scheduled'")
            #expect(try await database.reaches("attempts is not null and state = 'parked' from errand.job"))
            #expect(endpoints.requests.map(\.attempt) == [1, 2])
        }
    }
}
