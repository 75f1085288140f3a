import ArgumentParser
import Listings
import Postgres

struct BatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "batch",
        abstract: "Batches of jobs: list them, cancel or retry all jobs of one.",
        discussion: """
            errand batch list
            errand batch cancel 4711 --reason 'wrong file'
            errand batch retry 4711 --reason 'the bucket is back'
            """,
        subcommands: [ListBatches.self, CancelBatch.self, RetryBatch.self])
}

struct ListBatches: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show batches, the newest first, and how far they are.",
        discussion: "Reads the view errand.batches. Times are in UTC; unfinished jobs are counted up to 1,000.")

    @Argument(help: "Only this one.")
    var id: Int64?

    @OptionGroup var most: RowCount
    @OptionGroup var output: ListOutput

    var query: Query {
        Query(Listing.batches.query(where: "$1::int8 is null or id = $1", limit: "$2"), [id, most.count])
    }
    var none: String { "no such batch is on record" }

    static let table = [
        Column("ID", \.id), Column("NAME", \.name), Column("STATE", \.state), Column("OUTCOME", \.outcome),
        Column("DONE") { $0.progress.flatMap(Double.init).map { "\(Int(100 * $0)) %" } },
        Column("JOBS", \.total), Column("WAITING", \.waiting), Column("FAILED", \.failed),
        Column("CANCELLED", \.cancelled), Column("OBSOLETE", \.obsolete),
        Column("OPENED") { $0.opened_at.map(inSeconds) },
    ]
}

/// Changes all jobs of one batch.
protocol BatchActionCommand: ActionCommand {
    var batch: BatchArguments { get }
}

struct BatchArguments: ParsableArguments {
    @Argument(help: "The batch's id.")
    var id: Int64

    @OptionGroup var reason: Reason
    @OptionGroup var output: ActionOutput
}

extension BatchActionCommand {
    var output: ActionOutput { batch.output }
    var subject: Subject { .numbered(batch.id, as: "batch_id") }
}

struct CancelBatch: BatchActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel the jobs of a batch that have not ended. An open batch is closed first.")

    @OptionGroup var batch: BatchArguments

    func act(on connection: Connection) async throws -> Done {
        _ = try await connection.call("errand.batch_close($1)", [batch.id], as: Bool.self)
        return try await connection.changeBatch("cancel", batch, "cancelled")
    }
}

struct RetryBatch: BatchActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry the jobs of a batch that have failed or were cancelled. Callbacks come once all the same.")

    @OptionGroup var batch: BatchArguments

    func act(on connection: Connection) async throws -> Done {
        try await connection.changeBatch("retry", batch, "retried")
    }
}

extension Connection {
    /// Changes 10,000 jobs of a batch at a time until none is left.
    fileprivate func changeBatch(_ action: String, _ batch: BatchArguments, _ word: String) async throws -> Done {
        var changed: Int64 = 0
        while true {
            let count = try await call(
                "errand.batch_\(action)($1, $2)", [batch.id, batch.reason.text], as: Int64.self)
            if count == 0 { return Done(word, " \(changed) jobs") }
            changed += count
        }
    }
}
