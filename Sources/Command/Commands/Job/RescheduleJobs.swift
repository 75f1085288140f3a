import ArgumentParser
import Foundation
import Postgres

struct RescheduleJobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reschedule",
        abstract: "Give waiting jobs another queue, priority or time.",
        discussion: """
            errand job reschedule --tag customer/4 --to-priority 1 --reason 'they wait for it'
            errand job reschedule --kind newsletter --at 1h --per-minute 600 --reason 'too early' --no-dry-run

            Calls errand.reschedule_where. It is a dry run by default.
            """)

    @OptionGroup var filter: JobFilter

    @Option(help: "The queue to move them to.", completion: .queues)
    var toQueue: String?

    @Option(help: "The priority to give them: 1 (first) to 4 (last).")
    var toPriority: Int?

    @Option(help: "The due time, such as 10m from now.", transform: Moment.init(argument:))
    var at: Moment?

    @Option(help: "How many jobs become due per minute, from --at or from now on.")
    var perMinute: Int?

    @Option(help: "The most jobs to change, 1 to 100000. Default: 10000.")
    var maxJobs: Int?

    @OptionGroup var reason: Reason

    @Flag(help: "Also to a queue that no job, kind or worker has named so far.")
    var unused = false

    @Flag(inversion: .prefixedNo, help: "Only show what would change.")
    var dryRun = true

    @Flag(help: "Print a JSON array of {\"job_id\", \"was\", \"now\", \"run_at\"}.")
    var json = false

    func validate() throws {
        if toQueue == nil, toPriority == nil, at == nil, perMinute == nil {
            throw ValidationError("expected --to-queue, --to-priority, --at or --per-minute, got none of them")
        }
    }

    func run() async throws {
        let jobs = try await Environment.load().withConnection { connection in
            let rows = try await connection.query(
                Statement(
                    """
                    select job_id, was, now, case when now = 'scheduled' then due_at end, coalesce(beyond, 0)
                    from errand.reschedule_where(
                        $1, $2, $3, $4::int4, coalesce($5, now() + $6 * interval '1 microsecond'), $7::int4, $8, $9::int4,
                        $10)
                    """,
                    [try JSONB(encoding: filter.fields), reason.text, toQueue, toPriority] + Moment.parameters(at) + [
                        perMinute, dryRun, maxJobs ?? JobFilter.mostJobs, unused,
                    ]))
            if rows.isEmpty { try await filter.hintAtNames(on: connection) }
            return try rows.map(ChangedJob.init)
        }
        try ChangedJob.show(jobs, asJSON: json, isDryRun: dryRun)
    }
}
