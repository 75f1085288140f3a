import ArgumentParser
import Postgres

struct RetentionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention",
        abstract: "How long ended jobs stay: list it, set it for a kind, return to the default.",
        discussion: """
            errand retention list
            errand retention set newsletter failed 90d --reason 'for the audit'
            errand retention clear newsletter failed --reason 'the audit is over'
            """,
        subcommands: [ListRetention.self, SetRetention.self, ClearRetention.self])

    /// States of ended jobs.
    static let states = ["succeeded", "failed", "cancelled", "obsolete"]
}

struct ListRetention: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show how long ended jobs stay, by kind and state, and who has set it.",
        discussion: "Reads the view errand.retention_status. Lines without a kind are for all kinds without their own.")

    @OptionGroup var output: ListOutput

    var query: Query {
        Query(
            """
            select kind, state, extract(epoch from keep)::float8 as keep_seconds, set_by, set_at, reason
            from errand.retention_status
            """)
    }
    var none: String { "nothing is kept" }

    static let table = [
        Column("KIND") { $0.kind ?? "all others" }, Column("STATE", \.state),
        Column("KEEP") { $0.keep_seconds.map(age) },
        Column("SET BY", \.set_by), Column("SINCE") { $0.set_at.map(inSeconds) }, Column("REASON", \.reason),
    ]
}

/// Which jobs a retention is for.
struct RetentionOf: ParsableArguments {
    @Argument(help: "The kind's name.", completion: .kinds)
    var kind: String

    @Argument(help: "succeeded, failed, cancelled or obsolete.", completion: .list(RetentionCommand.states))
    var state: String

    var subject: Subject { .named(kind, as: "kind") }
}

struct SetRetention: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set how long ended jobs of a kind and state stay.",
        discussion: "Calls errand.set_retention. It holds from the next pruning on: within an hour.")

    @OptionGroup var jobs: RetentionOf

    @Argument(help: "How long, 1m to 3650d.", transform: Span.init(argument:))
    var keep: Span

    @OptionGroup var reason: Reason
    @OptionGroup var output: ActionOutput

    var subject: Subject { jobs.subject }

    func act(on connection: Connection) async throws -> Done {
        try await connection.execute(
            Statement(
                "select errand.set_retention($1, $2, $3 * interval '1 microsecond', $4)",
                [jobs.kind, jobs.state, keep.microseconds, reason.text]))
        return Done("set", ", \(jobs.state) ones stay for \(keep.text)")
    }
}

struct ClearRetention: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Let ended jobs of a kind and state stay as long as the program says.")

    @OptionGroup var jobs: RetentionOf
    @OptionGroup var reason: Reason
    @OptionGroup var output: ActionOutput

    var subject: Subject { jobs.subject }

    func act(on connection: Connection) async throws -> Done {
        try await connection.execute(
            Statement("select errand.set_retention($1, $2, null, $3)", [jobs.kind, jobs.state, reason.text]))
        return Done("default", ", for \(jobs.state) ones")
    }
}
