import ArgumentParser
import Listings
import Postgres

struct CircuitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "circuit",
        abstract: "Circuit breakers: list them, open or close one.",
        discussion: """
            errand circuit list
            errand circuit open storage --reason 'the bucket is being moved' --until 10m
            errand circuit close storage

            While one is open, jobs that need it are parked and spend no attempts.
            """,
        subcommands: [ListCircuits.self, OpenCircuit.self, CloseCircuit.self])
}

struct ListCircuits: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the circuit breakers, their states, and how many jobs wait for each.",
        discussion: "Reads the view errand.circuits. Times are in UTC; jobs are counted up to 10,000.")

    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.circuits.query()) }
    var none: String { "no circuit is known" }

    static let table = [
        Column("NAME", \.name), Column("STATE", \.state), Column("SINCE") { $0.opened_at.map(inSeconds) },
        Column("BY", \.opened_by), Column("TRIED AT") { $0.until.map(inSeconds) },
        Column("PARKED") { ($0.parked ?? "") + ($0.is_more == "true" ? "+" : "") }, Column("REASON", \.reason),
    ]
}

struct OpenCircuit: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open a circuit: from now on jobs that need it are parked. Running jobs go on.")

    @Argument(help: "The circuit's name.", completion: .circuits)
    var name: String

    @OptionGroup var reason: Reason

    @Option(
        help: "When one job at a time may probe it: a time, or 10m from now. Default: not before it is closed.",
        transform: Moment.init(argument:))
    var until: Moment?

    @Flag(help: "Also a circuit that no kind needs so far.")
    var unused = false

    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "circuit") }

    func act(on connection: Connection) async throws -> Done {
        if !unused {
            try await Names.circuits.require(name, on: connection, more: " (--unused opens one that no kind needs yet)")
        }
        try await connection.execute(
            Statement(
                "select errand.circuit_open($1, $2, coalesce($3, now() + $4 * interval '1 microsecond'))",
                [name, reason.text] + Moment.parameters(until)))
        return Done("open")
    }
}

struct CloseCircuit: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "close",
        abstract: """
            Close a circuit: its parked jobs are released, oldest first, 100 in the first second and more in each \
            later one.
            """)

    @Argument(help: "The circuit's name.", completion: .circuits)
    var name: String

    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "circuit") }

    func act(on connection: Connection) async throws -> Done {
        try await Names.circuits.require(name, on: connection)
        return Done(
            try await connection.call("errand.circuit_close($1)", [name], as: Bool.self) ? "closed" : "was not open")
    }
}
