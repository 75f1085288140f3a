import Postgres

/// A job that another one has waited for: ``EnqueueOption/after(_:ifParentFails:)``.
public struct ParentJob: Sendable, Hashable {
    public let id: Int64
    /// `succeeded`, `failed`, `cancelled` or `obsolete`; nil if the job is no longer on record.
    public let state: String?
    /// What its handler returned; nil if it returned nothing.
    public let output: JSONB?

    /// The output as a `T`; nil if there is none. Throws a `DecodingError` if it isn't one.
    public func output<T: Decodable>(as type: T.Type) throws -> T? { try output?.decode(type) }
}

extension JobContext {
    /// The jobs that this one has waited for, in the order of their ids; empty if it was enqueued without any. Each
    /// call reads them anew.
    ///
    /// - Throws: ``PostgresError``.
    public func parents() async throws -> [ParentJob] {
        guard job.options?.forWorker.after != nil else { return [] }
        let rows = try await database.query(
            Statement(
                "select job_id, state, output from errand_internal.parents_v1($1, $2, $3)",
                [job.workerID, job.id, job.position]))
        return try rows.map { row in
            let (id, state, output) = try row.decode(Int64.self, String?.self, JSONB?.self)
            return ParentJob(id: id, state: state, output: output)
        }
    }
}
