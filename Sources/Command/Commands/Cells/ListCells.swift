import ArgumentParser
import Postgres

struct ListCells: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the cells behind the front, the hottest first, and how loaded each is.",
        discussion: "Reads the view errand_front.cell_status.",
        aliases: ["status"])

    @Flag(help: "Print a JSON array.")
    var json = false

    struct Line: Listed {
        let cell: Int
        let state: String
        let is_reachable: Bool
        let heat: Double?
        let waiting: Int?
        let running: Int?
        let failed: Int?
        let oldest_seconds: Double?
        let finished_per_s: Double?
        let workers: Int?
        let slots: Int
        let address: String

        static let head = [
            "CELL", "STATE", "HEAT", "WAITING", "RUNNING", "FAILED", "OLDEST", "PER S", "WORKERS", "SLOTS", "ADDRESS",
        ]
        var cells: [String?] {
            [
                "\(cell)", is_reachable ? state : "down", heat.map { "\($0)" }, waiting.map { "\($0)" },
                running.map { "\($0)" }, failed.map { "\($0)" }, oldest_seconds.map(age),
                finished_per_s.map { "\($0)" }, workers.map { "\($0)" }, "\(slots)", address,
            ]
        }
    }

    func run() async throws {
        let lines = try await CellsCommand.withFront(Environment.load()) { front in
            try await front.query(
                """
                select
                    cell::bigint, state, is_reachable, heat::float8, waiting, running, failed,
                    extract(epoch from oldest_age)::float8, finished_per_s::float8, workers, slots, address
                from errand_front.cell_status
                """
            )
            .map { row in
                let (cell, state, isReachable, heat, waiting, running) = try row.decode(
                    Int.self, String.self, Bool.self, Double?.self, Int?.self, Int?.self)
                let (failed, oldest, perSecond, workers, slots, address) = try row.decode(
                    from: 6, Int?.self, Double?.self, Double?.self, Int?.self, Int.self, String.self)
                return Line(
                    cell: cell, state: state, is_reachable: isReachable, heat: heat, waiting: waiting, running: running,
                    failed: failed, oldest_seconds: oldest, finished_per_s: perSecond, workers: workers, slots: slots,
                    address: address)
            }
        }
        try show(lines, asJSON: json, none: "the front has no cell: `errand cells add`")
    }
}

struct DrainCell: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Give a cell no new jobs any more. Its own are worked off, by its workers.",
        discussion: """
            errand cells drain 3
            errand cells drain 3 --undo

            `errand cells drop` removes it when it has no job and no schedule left.
            """)

    @Argument(help: "The cell's number.")
    var cell: Int

    @Flag(help: "Give it its share of new jobs again.")
    var undo = false

    func run() async throws {
        try await CellsCommand.withFront(Environment.load()) { front in
            try await front.execute(Statement("select errand_front.drain_cell($1::int, $2)", [cell, !undo]))
        }
        print(undo ? "cell \(cell) takes jobs" : "cell \(cell) takes no new jobs")
    }
}

struct DropCell: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Remove a drained cell from the front. Its database stays as it is.")

    @Argument(help: "The cell's number.")
    var cell: Int

    func run() async throws {
        try await CellsCommand.withFront(Environment.load()) { front in
            try await front.execute(Statement("select errand_front.drop_cell($1::int)", [cell]))
        }
        print("cell \(cell) is no longer behind the front")
    }
}
