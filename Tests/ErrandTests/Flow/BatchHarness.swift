import ErrandTestKit
import Postgres
import Testing

@testable import Errand

extension Database {
    /// Opens a batch with a callback of each sort, in a queue of their own.
    nonisolated func openBatch(_ name: String = "b") async throws -> Int64 {
        try await query(
            Statement(
                """
                select errand.batch_open($1,
                    on_success => '{"kind": "on_success", "queue": "callbacks"}',
                    on_finish => '{"kind": "on_finish", "queue": "callbacks", "payload": {"a": 1}}',
                    on_failure => '{"kind": "on_failure", "queue": "callbacks"}', properties => '{"file": 7}')
                """, [name])
        ).scalar(Int64.self)
    }

    /// Enqueues a `noop` into a batch. Returns its id.
    @discardableResult
    nonisolated func member(of batch: Int64, more: String = "") async throws -> Int64 {
        try await query(Statement("select job_id from errand.enqueue('noop', batch => $1\(more))", [batch])).scalar(
            Int64.self)
    }

    nonisolated func closeBatch(_ batch: Int64) async throws {
        _ = try await query(Statement("select errand.batch_close($1)", [batch]))
    }

    /// What maintenance does for batches, until it has no more to do at once. Nothing if it wouldn't look.
    nonisolated func checkBatches() async throws {
        let run = Statement(
            """
            select coalesce(bool_or(done.is_more), false)
            from errand.maintenance_task as task
            cross join lateral errand_internal.run_task(task) as done
            where task.name = 'batches' and errand_internal.task_wait(task) = interval '0'
            """)
        while try await query(run).scalar(Bool.self) {}
    }

    /// The callbacks that were enqueued for a batch, by their kinds.
    nonisolated func callbacks(of batch: Int64) async throws -> String {
        try await query(
            Statement(
                """
                select coalesce(string_agg(kind, ' ' order by kind), '')
                from errand.job where options ->> 'callback_of' = $1
                """, ["\(batch)"])
        ).scalar(String.self)
    }

    /// State, outcome, and the numbers of all, waiting, failed, cancelled and obsolete jobs.
    nonisolated func batch(_ id: Int64) async throws -> String {
        try await query(
            Statement(
                """
                select concat_ws(' ', state, coalesce(outcome, '-'), total, waiting, failed, cancelled, obsolete)
                from errand.batch_status($1)
                """, [id])
        ).scalar(String.self)
    }
}
