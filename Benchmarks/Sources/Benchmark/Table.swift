/// Text in columns: the first to the left, numbers to the right.
struct Table {
    private var rows: [[String]]

    init(head: [String]) { rows = [head] }

    mutating func add(_ row: [String]) { rows.append(row) }

    var lines: [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            for (column, text) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - text.count)
                line += column == 0 ? text + padding : "  " + padding + text
            }
            return line
        }
    }
}
