import Postgres

@testable import Errand

extension Database {
    /// The result of a query as text: bars between columns, line ends between rows, null as an empty text.
    func text(_ sql: String, as role: String? = nil) async throws -> String {
        try await transaction { transaction in
            if let role { try await transaction.execute(Statement("set local role \(role)")) }
            let rows = try await transaction.query(
                Statement(
                    """
                    select coalesce(string_agg((
                        select string_agg(coalesce(value, ''), '|' order by ordinal)
                        from json_each_text(to_json(answer)) with ordinality as field(key, value, ordinal)
                    ), E'\\n'), '')
                    from (\(sql)) as answer
                    """))
            return try rows.scalar(String.self)
        }
    }

    /// The SQLSTATE with which a call is refused; nil if it isn't.
    func refusal(of sql: String, as role: String? = nil) async throws -> String? {
        do {
            try await transaction { transaction in
                if let role { try await transaction.execute(Statement("set local role \(role)")) }
                try await transaction.execute(Statement(sql))
            }
            return nil
        } catch let error as PostgresError {
            return error.sqlState ?? "no state"
        }
    }

    /// Registers a worker of the queue `default`. Returns its id.
    func enter(kinds: String = "noop", queue: String = "default", lease: String = "1 hour") async throws -> Int64 {
        try await query(
            Statement(
                """
                select worker_id
                from errand_internal.register_worker_v1(
                    'host:1', '1', '\(lease)', '{\(queue)}',
                    '[{"name": "\(kinds)", "queue": "\(queue)", "max_attempts": 3, "priority": 2}]')
                """)
        ).scalar(Int64.self)
    }

    /// Claims the due jobs of a queue for that worker.
    func take(_ worker: Int64, queue: String = "default", kinds: String = "noop") async throws {
        try await execute(
            Statement(
                "select errand_internal.claim_v1('\(queue)', '{\(kinds)}', \(worker), 100, '{0,0,0,0}', '{1,2,3,4}', true)"
            ))
    }

    /// Completes all jobs of the worker as failed.
    func fail(_ worker: Int64, with error: String) async throws {
        try await execute(
            Statement(
                """
                select errand_internal.complete_v1(
                    $1, array_agg(id), array_agg(queue_position), array_agg('failed'::text), array_agg($2), array_agg(0::bigint),
                    array_agg(null::jsonb), null, null)
                from errand.job
                where worker_id = $1
                """, [worker, error]))
    }
}
