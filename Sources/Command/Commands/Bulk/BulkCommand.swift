import ArgumentParser
import Postgres

struct BulkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bulk",
        abstract: "Cancel or discard millions of jobs in the background, in batches that others don't notice.",
        discussion: """
            errand job cancel --kind newsletter --reason 'wrong text'       # shows what matches
            errand bulk cancel --kind newsletter --reason 'wrong text' --wait
            errand bulk list

            Workers and schedulers make the batches: at least one of them has to run.
            """,
        subcommands: [StartCancel.self, StartDiscard.self, ListBulk.self, WatchBulk.self, StopBulk.self])
}

/// Which jobs a bulk action changes, and why.
struct BulkOptions: ParsableArguments {
    @OptionGroup var filter: JobFilter

    @OptionGroup var reason: Reason

    @Flag(help: "Wait until it is done, with a progress bar on a terminal.")
    var wait = false

    @Flag(help: "Print {\"bulk\", \"done\"}; with --wait what `errand bulk watch` prints.")
    var json = false

    func validate() throws {
        if filter.fields.isEmpty {
            throw ValidationError("--queue, --kind, …: expected what the jobs have in common, got nothing")
        }
    }

    /// Starts the action `cancel` or `discard`. With `--wait` it is followed to its end.
    func start(_ action: String) async throws {
        try await Environment.load().withConnection { connection in
            let id = try await connection.query(
                Statement(
                    "select errand.start_bulk($1, $2, $3)", [action, JSONB(encoding: filter.fields), reason.text])
            ).scalar(Int64.self)
            try await filter.hintAtNames(on: connection)
            if wait { return try await BulkProgress.follow(id, asJSON: json, on: connection) }
            print(try json ? Done("requested").json(of: .numbered(id, as: "bulk")) : "\(id)")
        }
    }
}

struct StartCancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Request that all unfinished jobs of a filter are cancelled. Prints the number of the bulk action.",
        discussion: "Calls errand.start_bulk. It is no dry run: `errand job cancel` shows what matches.")

    @OptionGroup var options: BulkOptions

    func run() async throws { try await options.start("cancel") }
}

struct StartDiscard: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Request that all failed jobs of a filter are discarded. Prints the number of the bulk action.",
        discussion: "Calls errand.start_bulk. It is no dry run: errand.discard_where shows what matches.")

    @OptionGroup var options: BulkOptions

    func run() async throws { try await options.start("discard") }
}

struct StopBulk: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "End a bulk action. What it has changed stays changed.",
        discussion: "Calls errand.stop_bulk.")

    @Argument(help: "Its number, as `errand bulk list` shows it.")
    var id: Int64

    @OptionGroup var reason: Reason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .numbered(id, as: "bulk") }

    func act(on connection: Connection) async throws -> Done {
        let changed = try await connection.call("errand.stop_bulk($1, $2)", [id, reason.text], as: Int64.self)
        return Done("stopped", "; it has changed \(changed) jobs")
    }
}
