import ArgumentParser
import Postgres

struct ListCells: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the cells behind the front, the hottest first, and how loaded each is.",
        discussion: "Reads the view errand_front.cell_status.",
        aliases: ["status"])

    @OptionGroup var output: ListOutput

    private static let query = Query(
        """
        select cell, state, is_reachable, heat, waiting, running, failed,
            extract(epoch from oldest_age)::float8 as oldest_seconds, finished_per_s, workers, slots, address
        from errand_front.cell_status
        """)
    private static let table = [
        Column("CELL", \.cell), Column("STATE") { $0.is_reachable == "true" ? $0.state : "down" },
        Column("HEAT", \.heat), Column("WAITING", \.waiting), Column("RUNNING", \.running), Column("FAILED", \.failed),
        Column("OLDEST") { $0.oldest_seconds.map(age) }, Column("PER S", \.finished_per_s),
        Column("WORKERS", \.workers),
        Column("SLOTS", \.slots), Column("ADDRESS", \.address),
    ]

    func run() async throws {
        let rows = try await CellsCommand.withFront(Environment.load()) { try await Fields.read(Self.query, on: $0) }
        try show(rows, Self.table, as: output, none: "the front has no cell: `errand cells add`")
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
