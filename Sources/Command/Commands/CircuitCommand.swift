import ArgumentParser
import Postgres

/// `errand circuit …`: the view errand.circuits, errand.circuit_open and errand.circuit_close.
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

    /// The names of all circuits that kinds need or that were ever open.
    static func names(on connection: Connection) async throws -> [String] {
        try await connection.query(Statement(allNames, [])).column(0, as: String.self)
    }

    static let allNames = """
        select name from errand.circuits
        union
        select unnest(circuits) from errand.kinds
        """
}

struct ListCircuits: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the circuit breakers, their states, and how many jobs wait for each.",
        discussion: "Reads the view errand.circuits. Times are in UTC; jobs are counted up to 10,000.")

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Listed {
        let name: String
        let state: String
        let opened_at: String?
        let opened_by: String?
        let until: String?
        let reason: String?
        let failures: Int
        let parked: Int
        let is_more: Bool
        let probe_job_id: Int64?

        static let head = ["NAME", "STATE", "SINCE", "BY", "TRIED AT", "PARKED", "REASON"]
        var cells: [String?] {
            [
                name, state, opened_at.map(inSeconds), opened_by, until.map(inSeconds),
                "\(parked)\(is_more ? "+" : "")", reason,
            ]
        }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            try await connection.query(
                """
                select name, state, opened_at, opened_by, until, reason, failures, parked, is_more, probe_job_id
                from errand.circuits
                order by name
                """
            )
            .map { row in
                let (name, state, openedAt, by, until, reason, failures, parked, isMore, probe) = try row.decode(
                    String.self, String.self, Timestamp?.self, String?.self, Timestamp?.self, String?.self, Int?.self,
                    Int.self, Bool.self, Int64?.self)
                return Line(
                    name: name, state: state, opened_at: openedAt?.description, opened_by: by,
                    until: until?.description, reason: reason, failures: failures ?? 0, parked: parked, is_more: isMore,
                    probe_job_id: probe)
            }
        }
        try show(lines, asJSON: json, none: "no circuit is known")
    }
}

/// What the commands that change a circuit print.
private struct Done: Encodable {
    let circuit: String
    let done: String

    func show(asJSON: Bool) throws { print(try asJSON ? Command.json(self) : "\(circuit.printable): \(done)") }
}

struct OpenCircuit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Open a circuit: from now on jobs that need it are parked. Running jobs go on.")

    @Argument(help: "The circuit's name.", completion: .circuits)
    var name: String

    @Option(help: "The reason, shown in errand.circuits.")
    var reason: String

    @Option(
        help: "When one job at a time may probe it: a time, or 10m from now. Default: not before it is closed.",
        transform: Moment.init(argument:))
    var until: Moment?

    @Flag(help: "Also a circuit that no kind needs so far.")
    var unused = false

    @Flag(help: "Print {\"circuit\", \"done\"}.")
    var json = false

    func run() async throws {
        try await Environment.load().withConnection { connection in
            if !unused {
                let known = try await CircuitCommand.names(on: connection)
                guard known.contains(name) else {
                    throw Failure.unknown(
                        "circuit", name, among: known, more: " (--unused opens one that no kind needs yet)")
                }
            }
            try await connection.execute(
                Statement(
                    "select errand.circuit_open($1, $2, coalesce($3, now() + $4 * interval '1 microsecond'))",
                    [name, reason] + Moment.parameters(until)))
        }
        try Done(circuit: name, done: "open").show(asJSON: json)
    }
}

struct CloseCircuit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "close",
        abstract:
            "Close a circuit: its parked jobs are released, oldest first, 100 in the first second and more in each later one."
    )

    @Argument(help: "The circuit's name.", completion: .circuits)
    var name: String

    @Flag(help: "Print {\"circuit\", \"done\"}.")
    var json = false

    func run() async throws {
        let wasOpen = try await Environment.load().withConnection { connection in
            let known = try await CircuitCommand.names(on: connection)
            guard known.contains(name) else { throw Failure.unknown("circuit", name, among: known) }
            return try await connection.query(Statement("select errand.circuit_close($1)", [name])).scalar(Bool.self)
        }
        try Done(circuit: name, done: wasOpen ? "closed" : "was not open").show(asJSON: json)
    }
}
