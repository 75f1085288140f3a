/// Columns for people: as wide as what they hold, two spaces between, nothing behind the last.
struct TextTable: CustomStringConvertible {
    private var lines: [[String]]

    init(_ head: String...) { lines = [head] }

    /// Adds a line. Control characters are escaped; an empty text is shown as `-`.
    mutating func add(_ texts: String?...) {
        lines.append(texts.map { $0.flatMap { $0.isEmpty ? nil : $0.printable } ?? "-" })
    }

    var description: String {
        let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            let padded = zip(line.dropLast(), widths).map { text, width in
                text + String(repeating: " ", count: width - text.count) + "  "
            }
            return padded.joined() + line[line.count - 1]
        }
        .joined(separator: "\n")
    }
}
