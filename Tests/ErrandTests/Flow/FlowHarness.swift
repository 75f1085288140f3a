import ErrandTestKit
import Postgres
import Testing

@testable import Errand

extension Database {
    /// Enqueues a `noop` that waits for others. Returns its id.
    nonisolated func child(
        of parents: Int64..., ifParentFails policy: String = "wait", more: String = ""
    ) async throws -> Int64 {
        try await query(
            Statement(
                "select job_id from errand.enqueue('noop', after => $1, if_parent_fails => $2\(more))",
                [parents, policy])
        ).scalar(Int64.self)
    }

    /// The states of jobs, in the order of their ids.
    func states(_ ids: Int64...) async throws -> String {
        try await query(
            Statement(
                "select coalesce(string_agg(errand_internal.state_of(id), ' ' order by id), '') from unnest($1::bigint[]) as id",
                [ids])
        ).scalar(String.self)
    }

    /// What maintenance does for jobs that wait for others, until it has no more to do at once.
    nonisolated func checkChildren() async throws {
        while try await query("select is_more from errand_internal.check_children()").scalar(Bool.self) {}
    }

    /// Runs checks until a condition holds.
    func becomesAfterChecks(_ condition: String) async throws -> Bool {
        try await becomes(condition) { try await checkChildren() }
    }

    /// Enqueues jobs by errand.enqueue_many. Returns their ids.
    nonisolated func enqueueMany(_ elements: String) async throws -> [Int64] {
        try await query(
            Statement("select array_agg(job_id order by ordinal) from errand.enqueue_many($1)", [JSONB(elements)])
        ).scalar([Int64].self)
    }
}

/// Expects a statement to fail with this state and a text that has these words.
func expectRefusal(_ sql: String, _ state: String, _ words: String, in database: Database) async {
    let error = await #expect(throws: PostgresError.self, "\(sql)") { try await database.execute(Statement(sql)) }
    #expect(error?.sqlState == state, "\(sql): \(error?.detail ?? "")")
    #expect(error?.detail.contains(words) == true, "\(sql): \(error?.detail ?? "")")
}
