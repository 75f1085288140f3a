import ArgumentParser
import Postgres

/// Which jobs are ended, by their ids or by a filter, and why.
struct EndOptions: ParsableArguments {
    @Argument(help: "The jobs' ids.")
    var ids: [Int64] = []

    @OptionGroup var filter: JobFilter

    @Option(help: "With a filter: the most jobs to change, 1 to 100000. Default: 10000.")
    var maxJobs: Int?

    @OptionGroup var reason: Reason

    @Flag(inversion: .prefixedNo, help: "With a filter: only show what would change. Default: --dry-run.")
    var dryRun: Bool?

    @Flag(help: "Print a JSON array of {\"job_id\", \"was\", \"now\"}.")
    var json = false

    func validate() throws {
        try checkChoice(ids, filter, ofFilter: maxJobs != nil ? "--max-jobs" : dryRun.map { _ in "--dry-run" })
    }

    /// Calls `errand.cancel` or `errand.discard`, or the function of that name and `_where`, and prints the jobs.
    func run(_ function: String) async throws {
        let jobs = try await Environment.load().withConnection { connection in
            let rows = try await connection.query(statement(function))
            if rows.isEmpty { try await filter.hintAtNames(on: connection) }
            return try rows.map(ChangedJob.init)
        }
        if ids.isEmpty {
            try ChangedJob.show(jobs, asJSON: json, isDryRun: dryRun ?? true)
        } else {
            try ChangedJob.show(jobs, asJSON: json)
        }
    }

    private func statement(_ function: String) throws -> Statement {
        guard ids.isEmpty else {
            return Statement(
                "select job_id, was, now, null::timestamptz, 0::int8 from errand.\(function)($1, $2)",
                [ids, reason.text])
        }
        return Statement(
            """
            select job_id, was, now, null::timestamptz, coalesce(beyond, 0)
            from errand.\(function)_where($1, $2, $3, $4::int4)
            """,
            [try JSONB(encoding: filter.fields), reason.text, dryRun ?? true, maxJobs ?? JobFilter.mostJobs])
    }
}

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

    @OptionGroup var options: EndOptions

    func run() async throws { try await options.run("discard") }
}

struct CancelJobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel jobs that have not ended. A running one is asked to stop within a second.",
        discussion: """
            errand job cancel 4711 --reason 'wrong customer'
            errand job cancel --kind newsletter --reason 'wrong text'
            errand job cancel --kind newsletter --reason 'wrong text' --no-dry-run

            Calls errand.cancel or errand.cancel_where. With a filter it is a dry run by default.
            """)

    @OptionGroup var options: EndOptions

    func run() async throws { try await options.run("cancel") }
}
