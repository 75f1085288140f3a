import ArgumentParser
import Foundation
import Postgres

/// The state of a job before and after a change.
struct ChangedJob: Encodable {
    let job_id: Int64
    let was: String?
    let now: String?
    var run_at: String?

    /// How many more jobs match the filter than one call changes.
    let beyond: Int

    enum CodingKeys: CodingKey { case job_id, was, now, run_at }

    init(_ row: Row) throws {
        let (id, was, now, due, beyond) = try row.decode(
            Int64.self, String?.self, String?.self, Timestamp?.self, Int.self)
        (job_id, self.was, self.now, run_at, self.beyond) = (id, was, now, due?.description, beyond)
    }

    /// Prints the jobs. If an id has no job, the command exits with 1. Unchanged jobs are reported on standard error.
    static func show(_ jobs: [ChangedJob], asJSON: Bool) throws {
        let found = jobs.filter { $0.was != nil }
        if asJSON || !found.isEmpty { try list(found, asJSON: asJSON) }
        for job in jobs {
            if let was = job.was, was == job.now { writeError("errand: job \(job.job_id) stays \(was)") }
        }
        let missing = jobs.filter { $0.was == nil }.map { "\($0.job_id)" }
        guard missing.isEmpty else {
            throw Failure(code: Failure.failed, "there is no job \(missing.joined(separator: ", ")) (any more)")
        }
    }

    /// Prints the jobs of a filter. For a dry run it also says how many more jobs match than one call changes.
    static func show(_ jobs: [ChangedJob], asJSON: Bool, isDryRun: Bool) throws {
        try list(jobs, asJSON: asJSON)
        guard isDryRun, let beyond = jobs.first?.beyond else { return }
        let them = jobs.count == 1 ? "this job" : "these \(jobs.count) jobs"
        let more = beyond > 0 ? "; \(beyond) more match: call it again for them, or see --max-jobs" : ""
        writeError("errand: nothing was changed: --no-dry-run does it to \(them)\(more)")
    }

    /// The column DUE is shown if jobs are spread over time.
    private static func list(_ jobs: [ChangedJob], asJSON: Bool) throws {
        if asJSON { return print(try Command.json(jobs)) }
        if jobs.isEmpty { return print("no such job exists") }
        let isSpread = jobs.contains { $0.run_at != nil }
        var table = TextTable(head: ["JOB", "WAS", "NOW"] + (isSpread ? ["DUE"] : []))
        for job in jobs {
            table.add(cells: ["\(job.job_id)", job.was, job.now] + (isSpread ? [job.run_at.map(inSeconds)] : []))
        }
        print(table)
    }
}

/// Checks that there are either ids or a filter, with matching options.
///
/// - Parameters:
///   - ofIDs: a given option that is only for ids.
///   - ofFilter: a given option that is only for a filter.
func checkChoice(_ ids: [Int64], _ filter: JobFilter, ofIDs: String? = nil, ofFilter: String?) throws {
    guard ids.isEmpty != filter.fields.isEmpty else {
        throw ValidationError(
            "ID …, --queue, --kind, …: expected ids or what they have in common, got \(ids.isEmpty ? "neither" : "both")"
        )
    }
    if !ids.isEmpty, let ofFilter {
        throw ValidationError("\(ofFilter): expected with a filter such as --kind, got ids")
    }
    if ids.isEmpty, let ofIDs { throw ValidationError("\(ofIDs): expected with ids, got a filter") }
}

extension JobFilter {
    /// How many jobs it changes by default.
    static let mostJobs = 10_000
}

struct RetryJobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Make failed and cancelled jobs available again, with all their attempts.",
        discussion: """
            errand job retry 4711 4712 --reason 'the bucket is back'
            errand job retry --kind image_compression --error NoSuchBucket --per-minute 600
            errand job retry --kind image_compression --error NoSuchBucket --per-minute 600 --no-dry-run

            Calls errand.retry or errand.retry_where. With a filter it is a dry run by default. A scheduled job \
            is brought forward; one that is available, running or succeeded stays as it is.
            """)

    @Argument(help: "The jobs' ids.")
    var ids: [Int64] = []

    @OptionGroup var filter: JobFilter

    @Option(
        help: "With ids: the due time, such as 10m from now. Default: now, or a cancelled job's own time if later.",
        transform: Moment.init(argument:))
    var at: Moment?

    @Option(help: "With a filter: how many jobs become due per minute.")
    var perMinute: Int?

    @Option(help: "With a filter: the most jobs to change, 1 to 100000. Default: 10000.")
    var maxJobs: Int?

    @Option(help: "The reason, for the audit.")
    var reason: String?

    @Flag(inversion: .prefixedNo, help: "With a filter: only show what would change. Default: --dry-run.")
    var dryRun: Bool?

    @Flag(help: "Print a JSON array of {\"job_id\", \"was\", \"now\", \"run_at\"}.")
    var json = false

    func validate() throws {
        try checkChoice(
            ids, filter, ofIDs: at.map { _ in "--at" },
            ofFilter: perMinute != nil
                ? "--per-minute" : maxJobs != nil ? "--max-jobs" : dryRun.map { _ in "--dry-run" })
    }

    func run() async throws {
        let jobs = try await Environment.load().withConnection { connection in
            let rows =
                if ids.isEmpty {
                    try await connection.query(
                        Statement(
                            """
                            select job_id, was, case when run_at > now() then 'scheduled' else 'available' end, run_at,
                                coalesce(beyond, 0)
                            from errand.retry_where($1, $4, $2::int4, $3, $5::int4)
                            """,
                            [
                                try JSONB(encoding: filter.fields), perMinute, dryRun ?? true, reason,
                                maxJobs ?? JobFilter.mostJobs,
                            ]))
                } else {
                    try await connection.query(
                        Statement(
                            """
                            select job_id, was, now, null::timestamptz, 0::int8
                            from errand.retry($1, $2, coalesce($3, now() + $4 * interval '1 microsecond'))
                            """, [ids, reason] + Moment.parameters(at)))
                }
            if rows.isEmpty { try await filter.hintAtNames(on: connection) }
            return try rows.map(ChangedJob.init)
        }
        if ids.isEmpty {
            try ChangedJob.show(jobs, asJSON: json, isDryRun: dryRun ?? true)
        } else {
            try ChangedJob.show(jobs, asJSON: json)
        }
    }
}
