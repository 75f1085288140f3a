import ArgumentParser
import Foundation
import Listings
import Postgres

/// A command that shows rows: a table for people, an array of JSON objects for programs, or CSV for spreadsheets.
protocol ListingCommand: AsyncParsableCommand {
    var output: ListOutput { get }

    /// The table's columns, from the rows' fields.
    static var table: [Column] { get }
    /// The text if there are no rows.
    var none: String { get }
    /// Its columns are the fields of the objects.
    var query: Query { get }
    /// Runs if there are no rows, before the text is printed.
    func explainNone(on connection: Connection) async throws
}

extension ListingCommand {
    func explainNone(on connection: Connection) async throws {}

    func run() async throws {
        let rows = try await Environment.load().withConnection { connection in
            let rows = try await Fields.read(query, on: connection)
            if rows.isEmpty { try await explainNone(on: connection) }
            return rows
        }
        try show(rows, Self.table, as: output, none: none)
    }
}

struct ListOutput: ParsableArguments {
    @Flag(help: "Print a JSON array.")
    var json = false

    @Flag(help: "Print CSV with a line of names, the fields of --json; nothing without rows.")
    var csv = false

    func validate() throws {
        if json, csv { throw ValidationError("expected one of --json and --csv, got both") }
    }
}

/// How many rows a command shows.
struct RowCount: ParsableArguments {
    @Option(help: "How many at most, 1 to 10000.")
    var count = 20

    func validate() throws {
        guard (1...10_000).contains(count) else { throw ValidationError("--count: expected 1 to 10000, got \(count)") }
    }
}

/// A row of a query by the names of its columns.
@dynamicMemberLookup
struct Fields: Sendable {
    /// An object as the server writes it, so that long numbers stay as they are. Nulls are left out.
    let json: String
    /// The names and the values as lines of CSV (RFC 4180).
    let csv: (names: String, values: String)
    private let texts: [String: String]

    subscript(dynamicMember name: String) -> String? { texts[name] }

    /// The elements of an array, with commas between.
    func list(_ name: String) -> String? {
        texts[name].flatMap { try? JSONB($0).decode([String].self) }?.joined(separator: ",")
    }

    static func read(_ query: Query, on connection: Connection) async throws -> [Fields] {
        // Times are in the zone of the session.
        try await connection.execute("set time zone 'UTC'")
        let rows = try await connection.query(
            Statement(
                """
                select json_strip_nulls(line)::text, fields.texts, fields.names, fields.csv
                from (
                    select row_number() over () as number, to_json(shown) as line from (\(query.sql)) as shown
                ) as numbered
                cross join lateral (
                    select
                        coalesce(jsonb_object_agg(key, value) filter (where value is not null), '{}') as texts,
                        string_agg(key, ',' order by nth) as names,
                        string_agg(
                            case when value ~ '[",[:cntrl:]]' then '"' || replace(value, '"', '""') || '"'
                                else coalesce(value, '') end, ',' order by nth) as csv
                    from json_each_text(line) with ordinality as field (key, value, nth)
                ) as fields
                order by number
                """, query.parameters))
        return try rows.map { row in
            let (document, texts, names, csv) = try row.decode(String.self, JSONB.self, String.self, String.self)
            // A terminal obeys no control but the end of a line.
            let lines = csv.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).controlsEscaped }
            return Fields(
                json: document.controlsEscaped, csv: (names, lines.joined(separator: "\n")),
                texts: try texts.decode([String: String].self))
        }
    }
}

/// A query with the values of its parameters.
struct Query: Sendable {
    let sql: String
    let parameters: [any PostgresEncodable]

    init(_ sql: String, _ parameters: [any PostgresEncodable] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

/// A column of a table for people.
struct Column: Sendable {
    let head: String
    /// Whether it is never cut, such as a time.
    let isWhole: Bool
    let cell: @Sendable (Fields) -> String?

    init(_ head: String, isWhole: Bool = false, _ cell: @escaping @Sendable (Fields) -> String?) {
        (self.head, self.isWhole, self.cell) = (head, isWhole, cell)
    }
}

/// A column of a time in milliseconds, without the digits that a histogram doesn't have.
func milliseconds(_ head: String, _ value: @escaping @Sendable (Fields) -> String?) -> Column {
    Column(head) { row in
        value(row).flatMap(Double.init).map { String(format: $0 < 10 ? "%.1f" : "%.0f", $0) }
    }
}

/// Prints a table that fits a terminal, a JSON array in one line, or CSV.
func show(_ rows: [Fields], _ columns: [Column], as output: ListOutput, none: String) throws {
    if output.csv {
        for line in rows.prefix(1).map(\.csv.names) + rows.map(\.csv.values) { print(line) }
    } else {
        show(rows, columns, asJSON: output.json, none: none)
    }
}

func show(_ rows: [Fields], _ columns: [Column], asJSON: Bool, none: String) {
    print(asJSON ? jsonArray(rows) : rows.isEmpty ? none : table(rows, columns).description)
}

func jsonArray(_ rows: [Fields]) -> String { "[" + rows.map(\.json).joined(separator: ",") + "]" }

func table(_ rows: [Fields], _ columns: [Column]) -> TextTable {
    var table = TextTable(head: columns.map(\.head), whole: Set(columns.filter(\.isWhole).map(\.head)))
    for row in rows { table.add(cells: columns.map { $0.cell(row) }) }
    return table
}
