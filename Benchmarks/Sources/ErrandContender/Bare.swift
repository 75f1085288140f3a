import Errand

/// The table of jobs without anything that makes it a queue: same columns, checks and indexes, no trigger, no function.
enum Bare {
    static let table = "bare.job"

    static let schema: [Statement] = [
        "create schema bare",
        "create sequence bare.job_position",
        "create table bare.job (like errand.job including all)",
        "alter table bare.job alter column queue_position set default nextval('bare.job_position')",
    ]

    static func insert(_ payload: JSONB) -> Statement {
        Statement("insert into bare.job (kind, payload) values ('bench', $1) returning id", [payload])
    }

    /// Each payload is encoded as it is sent, as it is for Errand's jobs.
    static func copy(_ count: Int, of job: BenchJob, into connection: Connection) async throws {
        try await connection.copyIn(table, columns: ["kind", "payload"], rows: Rows(count: count, job: job))
    }

    private struct Rows: Sequence, IteratorProtocol {
        var count: Int
        let job: BenchJob

        mutating func next() -> [any PostgresEncodable]? {
            guard count > 0, let payload = try? JSONB(encoding: job) else { return nil }
            count -= 1
            return ["bench", payload]
        }
    }
}
