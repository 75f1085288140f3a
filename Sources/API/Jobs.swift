import CoreMetrics
import Errand
import HTTPTypes
import Hummingbird
import Postgres
import ServiceLifecycle
import Synchronization

/// What the operations do in the database. Each call is one statement, which checks the token too.
struct Jobs: Sendable {
    let database: Database
    let queue: Queue
    let waits: Waits

    func enqueue(_ call: Call) async throws -> Reply {
        let rows = try await database.query(
            Statement(
                """
                select job_id, inserted, jsonb_build_object('id', job_id, 'state', state)
                from errand_internal.api_enqueue_v1($1, $2::json, $3, $4)
                """, [call.hash, call.body, call.parameters["Idempotency-Key"], call.traceparent]
            ).prepared)
        let (id, isNew, json) = try rows.row(of: "api_enqueue_v1").decode(Int64.self, Bool.self, JSONB.self)
        return Reply(
            status: isNew ? .created : .ok, json: json.bytes, headers: [.location: "/v1/jobs/\(id)"])
    }

    func read(_ call: Call) async throws -> Reply {
        let id = try call.number("id")
        let (job, hasEnded) = try await job(id, call.hash)
        let seconds = call.parameters["wait"].flatMap { Int($0.dropLast()) } ?? 0
        guard seconds > 0, !hasEnded else { return Reply(status: .ok, json: job.bytes) }
        guard waits.begin() else { throw Problem.busy }
        defer { waits.end() }
        try await waitForEnd(of: id, .seconds(seconds), call.request)
        // The caller may have left, and doesn't get a second request answered: see RequestBody.
        return Reply(status: .ok, json: try await self.job(id, call.hash).0.bytes, headers: [.connection: "close"])
    }

    func cancel(_ call: Call) async throws -> Reply {
        let rows = try await database.query(
            Statement(
                "select errand_internal.api_cancel_v1($1, $2, $3)",
                [call.hash, try call.number("id"), call.parameters["reason"] ?? "cancelled by HTTP"]))
        return Reply(status: .ok, json: try rows.scalar(JSONB.self).bytes)
    }

    func callBack(_ call: Call) async throws -> Reply {
        _ = try await database.query(
            Statement(
                """
                select errand.callback(
                    $1, outcome -> 'output', outcome ->> 'error', coalesce((outcome ->> 'permanent')::boolean, false))
                from (values ($2::json::jsonb)) as sent (outcome)
                """, [call.parameters["token"], call.body]))
        return Reply(status: .noContent)
    }
}

// MARK: - Batches
extension Jobs {
    func openBatch(_ call: Call) async throws -> Reply {
        let rows = try await database.query(
            Statement("select errand_internal.api_open_batch_v1($1, $2::json)", [call.hash, call.body]))
        let id = try rows.scalar(Int64.self)
        let json: JSONValue = ["id": .number(Double(id)), "state": "open"]
        return Reply(status: .created, json: json.sortedJSON, headers: [.location: "/v1/batches/\(id)"])
    }

    func readBatch(_ call: Call) async throws -> Reply {
        let rows = try await database.query(
            Statement("select errand_internal.api_batch_v1($1, $2)", [call.hash, try call.number("id")]))
        return Reply(status: .ok, json: try rows.scalar(JSONB.self).bytes)
    }

    /// - Parameter reason: that of a caller who gives none.
    func change(_ what: String, _ call: Call, reason: String? = nil) async throws -> Reply {
        let rows = try await database.query(
            Statement(
                "select errand_internal.api_change_batch_v1($1, $2, $3, $4)",
                [call.hash, try call.number("id"), what, call.parameters["reason"] ?? reason]))
        return Reply(status: .ok, json: try rows.scalar(JSONB.self).bytes)
    }
}

// MARK: - Waiting
extension Jobs {
    private func job(_ id: Int64, _ hash: Bytes) async throws -> (JSONB, hasEnded: Bool) {
        let rows = try await database.query(
            Statement("select job, has_ended from errand_internal.api_job_v1($1, $2)", [hash, id]).prepared)
        return try rows.row(of: "api_job_v1").decode(JSONB.self, Bool.self)
    }

    /// Returns when the job has ended, the time is over, the caller has left or the server stops.
    private func waitForEnd(of id: Int64, _ time: Duration, _ request: Request) async throws {
        do {
            _ = try await cancelWhenGracefulShutdown {
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    try await queue.end(of: id, timeout: time)
                }
            }
        } catch is ResultError, is CancellationError {}
    }
}

/// How many callers wait for jobs at once.
final class Waits: Sendable {
    private let most: Int
    private let count = Mutex(0)
    private let gauge: Gauge

    init(most: Int, factory: any MetricsFactory) {
        self.most = most
        gauge = Gauge(label: "errand_api_waits", factory: factory)
        gauge.record(0)
    }

    /// Whether one more may wait.
    func begin() -> Bool {
        count.withLock { count in
            guard count < most else { return false }
            count += 1
            gauge.record(count)
            return true
        }
    }

    func end() {
        count.withLock { count in
            count -= 1
            gauge.record(count)
        }
    }
}
