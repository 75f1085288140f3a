import ArgumentParser
import Postgres

struct DiscardJobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Discard failed jobs: they move to the history as cancelled.",
        discussion: """
            errand job discard 4711 --reason 'the customer has left'
            errand job discard --kind newsletter --reason 'old addresses'
            errand job discard --kind newsletter --reason 'old addresses' --no-dry-run

            Calls errand.discard or errand.discard_where. With a filter it is a dry run by default. Jobs that haven't \
            failed stay as they are.
            """)

    @Argument(help: "The jobs' ids.")
    var ids: [Int64] = []

    @OptionGroup var filter: JobFilter

    @Option(help: "With a filter: the most jobs to change, 1 to 100000. Default: 10000.")
    var maxJobs: Int?

    @Option(help: "The reason, for the audit and the jobs.")
    var reason: String

    @Flag(inversion: .prefixedNo, help: "With a filter: only show what would change. Default: --dry-run.")
    var dryRun: Bool?

    @Flag(help: "Print a JSON array of {\"job_id\", \"was\", \"now\"}.")
    var json = false

    func validate() throws {
        try checkChoice(ids, filter, ofFilter: maxJobs != nil ? "--max-jobs" : dryRun.map { _ in "--dry-run" })
    }

    func run() async throws {
        let jobs = try await Environment.load().withConnection { connection in
            let rows = try await connection.query(statement())
            if rows.isEmpty { try await filter.hintAtNames(on: connection) }
            return try rows.map(ChangedJob.init)
        }
        if ids.isEmpty {
            try ChangedJob.show(jobs, asJSON: json, isDryRun: dryRun ?? true)
        } else {
            try ChangedJob.show(jobs, asJSON: json)
        }
    }

    private func statement() throws -> Statement {
        guard ids.isEmpty else {
            return Statement(
                "select job_id, was, now, null::timestamptz, 0::int8 from errand.discard($1, $2)", [ids, reason])
        }
        return Statement(
            """
            select job_id, was, now, null::timestamptz, coalesce(beyond, 0)
            from errand.discard_where($1, $2, $3, $4::int4)
            """,
            [try JSONB(encoding: filter.fields), reason, dryRun ?? true, maxJobs ?? JobFilter.mostJobs])
    }
}
