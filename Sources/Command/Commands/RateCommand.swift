import ArgumentParser
import Postgres

struct RateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rate",
        abstract: "Rates: list them, set how many jobs of a key or a queue start within a time, clear one.",
        discussion: """
            errand rate list
            errand rate set 'tenant/*' 20 --per 1m --burst 5 --reason 'the provider allows it'
            errand rate set mail 100 --per 1m --queue
            errand rate clear mail --queue

            A rate counts over all workers. The name is a rate_key of jobs, or a pattern that ends with *; with --queue \
            it is that of a queue.
            """,
        subcommands: [ListRates.self, SetRate.self, ClearRate.self])
}

struct ListRates: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the rates of keys and queues, and how many jobs wait for them.",
        discussion: """
            Reads the views errand.key_rates and errand.limits. WAITING: starts that are reserved for jobs of a key, up \
            to 10,000, or parked jobs of a queue.
            """)

    @OptionGroup var output: ListOutput

    var query: Query {
        Query(
            """
            select 'key' as what, name, set_as, allowed, per::text as per, burst, is_full, reserved as waiting, next_at
            from errand.key_rates
            union all
            select 'queue', name, set_as, allowed, per::text, null, is_full, parked, null
            from errand.limits
            where what = 'rate'
            order by is_full desc nulls last, waiting desc nulls last, what, name
            limit 1000
            """)
    }
    var none: String { "no rate is set" }

    static let table = [
        Column("OF", \.what), Column("NAME", \.name), Column("SET AS", \.set_as),
        Column("ALLOWED") { row in row.allowed.map { $0 + (row.per.map { " in \($0)" } ?? "") } },
        Column("BURST", \.burst), Column("FULL") { $0.is_full == "true" ? "full" : "no" },
        Column("WAITING", \.waiting), Column("NEXT") { $0.next_at.map(inSeconds) },
    ]
}

/// Whose rate it is.
struct RateName: ParsableArguments {
    @Argument(help: "The key: the rate_key of jobs; one that ends with * is for all that begin so.")
    var name: String

    @Flag(help: "The name is that of a queue.")
    var queue = false

    var subject: Subject { .named(name, as: queue ? "queue" : "rate_key") }
}

struct SetRate: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set how many jobs start within any span of that length.",
        discussion: "Calls errand.set_key_rate, or with --queue errand.set_rate.")

    @OptionGroup var rate: RateName

    @Argument(help: "How many may start within that time.")
    var allowed: Int

    @Option(help: "The length of the span, such as 1s, 10m or 1h.", transform: Span.init(argument:))
    var per: Span

    @Option(help: "How many jobs of a key may start at once after a time without starts. Default: 1.")
    var burst: Int?

    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    func validate() throws {
        if rate.queue, burst != nil { throw ValidationError("--burst: the rate of a queue has none") }
    }

    var subject: Subject { rate.subject }

    func act(on connection: Connection) async throws -> Done {
        let given: [any PostgresEncodable] = [rate.name, per.microseconds, allowed, reason.text]
        try await connection.execute(
            rate.queue
                ? Statement("select errand.set_rate($1, $2 * interval '1 microsecond', $3::int4, $4)", given)
                : Statement(
                    "select errand.set_key_rate($1, $2 * interval '1 microsecond', $3::int4, $5::int4, $4)",
                    given + [burst ?? 1]))
        return Done("set", " to \(allowed) in \(per.text)")
    }
}

struct ClearRate: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove a rate: jobs start without one, or under that of a shorter pattern.")

    @OptionGroup var rate: RateName
    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    var subject: Subject { rate.subject }

    func act(on connection: Connection) async throws -> Done {
        let function = rate.queue ? "set_rate" : "set_key_rate"
        try await connection.execute(
            Statement("select errand.\(function)($1, null, null, reason => $2)", [rate.name, reason.text]))
        return Done("no rate")
    }
}
