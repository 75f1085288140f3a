import ArgumentParser
import Foundation
import Postgres

/// `errand job …`: the view errand.jobs, and the functions that explain and change jobs.
struct JobCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job",
        abstract: "Jobs: list, show, watch, explain, retry, cancel, discard, edit, reschedule.",
        discussion: """
            errand job list --state failed --kind image_compression
            errand job explain 4711
            errand job retry 4711 --reason 'the bucket is back'
            errand job retry --kind image_compression --error NoSuchBucket --per-minute 600
            """,
        subcommands: [
            ListJobs.self, ShowJob.self, WatchJob.self, ExplainJob.self, RetryJobs.self, CancelJobs.self,
            DiscardJobs.self, EditJob.self, RescheduleJobs.self,
        ])

    static let states = [
        "scheduled", "available", "parked", "running", "succeeded", "failed", "cancelled", "obsolete",
    ]
}

/// Options that select jobs, the same in each command.
struct JobFilter: ParsableArguments {
    @Option(help: "Jobs of this queue.", completion: .queues)
    var queue: String?

    @Option(help: "Jobs of this kind.", completion: .kinds)
    var kind: String?

    @Option(help: "Jobs in this state.", completion: .list(JobCommand.states))
    var state: String?

    @Option(help: "Jobs with this tag.")
    var tag: String?

    @Option(name: .customLong("unique"), help: "Jobs with this unique key.")
    var uniqueKey: String?

    @Option(name: .customLong("limit"), help: "Jobs under the limit with this key.")
    var limitKey: String?

    @Option(help: "Jobs whose last error holds this text.")
    var error: String?

    /// The filter for errand.cancel_where, errand.retry_where and errand.reschedule_where; empty if no option is given.
    var fields: [String: String] {
        let all = [
            "queue": queue, "kind": kind, "state": state, "tag": tag, "unique_key": uniqueKey, "limit_key": limitKey,
            "error": error,
        ]
        return all.compactMapValues(\.self)
    }

    func validate() throws {
        guard let state, !JobCommand.states.contains(state) else { return }
        let near = JobCommand.states.closest(to: state).map { "; did you mean \($0)?" } ?? ""
        throw ValidationError(
            "--state: expected one of \(JobCommand.states.joined(separator: ", ")), got '\(state.printable)'\(near)")
    }

    /// Reports an unknown queue or kind on standard error, with the most similar name.
    func hintAtNames(on connection: Connection) async throws {
        if let queue { try await Names.queues.hint(at: queue, on: connection) }
        if let kind { try await Names.kinds.hint(at: kind, on: connection) }
    }
}
