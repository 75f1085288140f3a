import Postgres

extension ProgressBuffer {
    /// The statement that writes them.
    package static func statement(for reports: [Report]) throws -> Statement {
        Statement("select errand_internal.record_progress_v1($1)", [try JSONB(encoding: reports.map(Row.init))])
    }

    /// One element of what errand_internal.record_progress_v1 takes.
    private struct Row: Encodable {
        let job_id: Int64
        let queue_position: Int64
        let attempt: Int
        let fraction: Double?
        let message: String?
        let output: JSONValue?
        let log: [String]?

        init(_ report: Report) throws {
            job_id = report.job.id
            queue_position = report.job.position
            attempt = report.job.attempt
            fraction = report.fraction
            message = report.message?.storable
            output = try report.output.map { try JSONValue($0) }
            log = report.log.isEmpty ? nil : report.log.map(\.storable)
        }
    }
}
