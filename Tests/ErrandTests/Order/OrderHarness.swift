import ErrandTestKit
import Postgres
import Testing

@testable import Errand

extension Database {
    /// Enqueues a `noop` with the order key `a`, or as `more` says. Returns its id.
    nonisolated func ordered(_ more: String = "", key: String = "a") async throws -> Int64 {
        try await query(
            Statement("select job_id from errand.enqueue('noop', order_key => $1\(more))", [key])
        ).scalar(Int64.self)
    }

    /// What maintenance does for order keys, until it has no more to do at once.
    nonisolated func checkOrders() async throws {
        while try await query("select is_more from errand_internal.check_orders()").scalar(Bool.self) {}
    }

    /// Runs checks until a condition holds.
    func becomesAfterOrderChecks(_ condition: String) async throws -> Bool {
        try await becomes(condition) { try await checkOrders() }
    }

    /// That nothing is left of order keys once all jobs have ended.
    func expectNoOrderLeft() async throws {
        try await checkOrders()
        try await checkOrders()
        for table in ["job", "order_job", "order_slot", "order_check"] {
            #expect(try await count("from errand.\(table)") == 0, "\(table)")
        }
    }
}

extension ManualWorker {
    /// The ids of up to ten claimed jobs.
    func start(queue: String = "default") async throws -> [ClaimedJob] { try await claim(10, queue: queue) }
}
