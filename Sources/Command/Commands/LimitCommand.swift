import ArgumentParser
import Listings
import Postgres

struct LimitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Limits: list them, set how many jobs with a key run at once, clear one.",
        discussion: """
            errand limit list
            errand limit set tenant/42 5 --reason 'they pay for more'
            errand limit set 'tenant/*' 2
            errand limit clear tenant/42

            A limit counts over all workers. 0 parks all jobs with the key; running ones go on.
            """,
        subcommands: [ListLimits.self, SetLimit.self, ClearLimit.self])
}

struct ListLimits: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the limits and the rates of queues: how many jobs run, and how many wait.",
        discussion: "Reads the view errand.limits. Parked jobs are counted up to 10,000.")

    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.limits.query()) }
    var none: String { "no limit is set" }

    static let table = [
        Column("WHAT", \.what), Column("NAME", \.name), Column("SET AS", \.set_as),
        Column("ALLOWED") { row in row.allowed.map { $0 + (row.per.map { " in \($0)" } ?? "") } },
        Column("RUNNING", \.running), Column("FULL") { $0.is_full == "true" ? "full" : "no" },
        Column("PARKED", \.parked),
    ]
}

struct SetLimit: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set how many jobs with this key run at once. A key that ends with * is for all that begin so.")

    @Argument(help: "The key: the limit_key of jobs, or kind/NAME for the limit of a kind.")
    var key: String

    @Argument(help: "How many run at once, 0 to 1000000.")
    var most: Int

    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(key, as: "limit_key") }

    func act(on connection: Connection) async throws -> Done {
        try await connection.execute(
            Statement("select errand.set_limit($1, $2::int4, $3)", [key, most, reason.text]))
        return Done("set", " to \(most) at once")
    }
}

struct ClearLimit: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove a limit: jobs with its key run without one, or under that of a shorter pattern.")

    @Argument(help: "The key, as `errand limit list` shows it under SET AS.")
    var key: String

    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(key, as: "limit_key") }

    func act(on connection: Connection) async throws -> Done {
        try await connection.execute(Statement("select errand.set_limit($1, null, $2)", [key, reason.text]))
        return Done("no limit")
    }
}
