import ArgumentParser
import Foundation
import Postgres

struct SizesCommand: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "sizes",
        abstract: "Show how large the tables of errand and of its apps are, the largest first, and their dead rows.",
        discussion: """
            Reads the view errand.table_health. Who holds back vacuum: \
            errand call 'select * from errand.horizon_blockers'
            """)

    @OptionGroup var output: ListOutput

    var query: Query {
        Query(
            """
            select table_name, parts, bytes, heap_bytes, live_rows, dead_rows, dead_percent, last_vacuum, last_analyze
            from errand.table_health
            order by bytes desc, table_name
            """)
    }
    var none: String { "there are no tables" }

    static let table = [
        Column("TABLE", \.table_name), Column("PARTS", \.parts), size("SIZE", \.bytes),
        size("ROWS' SIZE", \.heap_bytes),
        Column("ROWS", \.live_rows), Column("DEAD", \.dead_rows), Column("DEAD %", \.dead_percent),
        Column("LAST VACUUM") { $0.last_vacuum.map(inSeconds) },
    ]

    private static func size(_ head: String, _ value: @escaping @Sendable (Fields) -> String?) -> Column {
        Column(head) { row in
            value(row).flatMap(Int64.init)?.formatted(.byteCount(style: .memory, spellsOutZero: false))
        }
    }
}
