import ArgumentParser
import Postgres

/// `errand limit …`: the view errand.limits, and errand.set_limit.
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

struct ListLimits: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the limits and the rates of queues: how many jobs run, and how many wait.",
        discussion: "Reads the view errand.limits. Parked jobs are counted up to 10,000.")

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Listed {
        let what: String
        let name: String
        let set_as: String?
        let allowed: Int?
        let running: Int
        let is_full: Bool?
        let parked: Int?

        static let head = ["WHAT", "NAME", "SET AS", "ALLOWED", "RUNNING", "FULL", "PARKED"]
        var cells: [String?] {
            [
                what, name, set_as, allowed.map { "\($0)" }, "\(running)", is_full == true ? "full" : "no",
                parked.map { "\($0)" },
            ]
        }
    }

    func run() async throws {
        let lines = try await Environment.load().withConnection { connection in
            try await connection.query(
                """
                select what, name, set_as, allowed, running, is_full, parked
                from errand.limits
                order by is_full desc nulls last, what, name
                """
            )
            .map { row in
                let (what, name, setAs, allowed, running, isFull, parked) = try row.decode(
                    String.self, String.self, String?.self, Int?.self, Int.self, Bool?.self, Int?.self)
                return Line(
                    what: what, name: name, set_as: setAs, allowed: allowed, running: running, is_full: isFull,
                    parked: parked)
            }
        }
        try show(lines, asJSON: json, none: "no limit is set")
    }
}

/// What the commands that change a limit print.
private struct Done: Encodable {
    let limit_key: String
    let done: String

    func show(asJSON: Bool) throws { print(try asJSON ? Command.json(self) : "\(limit_key.printable): \(done)") }
}

struct SetLimit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set how many jobs with this key run at once. A key that ends with * is for all that begin so.")

    @Argument(help: "The key: the limit_key of jobs, or kind/NAME for the limit of a kind.")
    var key: String

    @Argument(help: "How many run at once, 0 to 1000000.")
    var most: Int

    @Option(help: "The reason, for the audit.")
    var reason: String?

    @Flag(help: "Print {\"limit_key\", \"done\"}.")
    var json = false

    func run() async throws {
        try await Environment.load().withConnection { connection in
            _ = try await connection.query(
                Statement("select errand.set_limit($1, $2::int4, $3)", [key, most, reason]))
        }
        try Done(limit_key: key, done: json ? "set" : "\(most) at once").show(asJSON: json)
    }
}

struct ClearLimit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove a limit: jobs with its key run without one, or under that of a shorter pattern.")

    @Argument(help: "The key, as `errand limit list` shows it under SET AS.")
    var key: String

    @Option(help: "The reason, for the audit.")
    var reason: String?

    @Flag(help: "Print {\"limit_key\", \"done\"}.")
    var json = false

    func run() async throws {
        try await Environment.load().withConnection { connection in
            _ = try await connection.query(Statement("select errand.set_limit($1, null, $2)", [key, reason]))
        }
        try Done(limit_key: key, done: "no limit").show(asJSON: json)
    }
}
