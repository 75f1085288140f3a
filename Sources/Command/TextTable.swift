import Foundation

/// A text table: columns as wide as their cells, two spaces between, no trailing spaces.
struct TextTable: CustomStringConvertible {
    /// The width of the terminal; 100 if the output isn't one.
    static let terminalWidth: Int = terminalSize.map { max(60, Int($0.ws_col)) } ?? 100

    /// The height of the terminal now; 24 if the output isn't one.
    static var terminalHeight: Int { terminalSize.map { max(3, Int($0.ws_row)) } ?? 24 }

    private static var terminalSize: winsize? {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? size : nil
    }

    private var lines: [[String]]
    private let whole: Set<String>
    private let limit: Int

    /// - Parameters:
    ///   - whole: heads of columns that are never truncated, such as times.
    ///   - limit: the most columns of a line. The widest cells are truncated to fit.
    init(head: [String], whole: Set<String> = [], limit: Int = TextTable.terminalWidth) {
        lines = [head]
        self.whole = whole
        self.limit = limit
    }

    /// Adds a line. Control characters are escaped; an empty text is shown as `-`.
    mutating func add(_ texts: String?...) { add(cells: texts) }

    mutating func add(cells: [String?]) {
        lines.append(cells.map { $0.flatMap { $0.isEmpty ? nil : $0.printable } ?? "-" })
    }

    var description: String {
        let widths = fittingWidths
        return lines.enumerated().map { index, line in
            let cells = zip(line, widths).enumerated().map { column, cell in
                let text = cell.0.cut(to: cell.1)
                return Self.styled(column == line.count - 1 ? text : text.padded(to: cell.1), isHead: index == 0)
            }
            return cells.joined(separator: "  ")
        }
        .joined(separator: "\n")
    }

    private static func styled(_ cell: String, isHead: Bool) -> String {
        guard Style.isOn else { return cell }
        return (isHead ? .bold : Style.of(cell)).map { $0.applied(to: cell) } ?? cell
    }

    /// Each column is as wide as its widest cell. If the line is too wide, the widest columns shrink, down to their
    /// heads.
    private var fittingWidths: [Int] {
        var widths = lines[0].indices.map { column in lines.map { $0[column].columns }.max() ?? 0 }
        let floors = zip(lines[0], widths).map { head, width in whole.contains(head) ? width : max(4, head.columns) }
        var surplus = widths.reduce(0, +) + 2 * (widths.count - 1) - limit
        while surplus > 0 {
            let candidates = widths.indices.filter { widths[$0] > floors[$0] }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            surplus -= 1
        }
        return widths
    }
}

extension String {
    /// Its width in a terminal: two columns for letters of East Asian scripts and most emoji.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// The text, truncated to the width with `…`.
    func cut(to width: Int) -> String {
        guard columns > width else { return self }
        var text = ""
        var used = 1
        for character in self {
            used += character.columns
            if used > width { break }
            text.append(character)
        }
        return text + "…"
    }

    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - columns)) }

    /// Wraps at spaces to lines of at most `width` columns. A longer word gets a line of its own.
    func wrapped(to width: Int) -> [String] {
        var lines: [String] = []
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            if let last = lines.last, last.columns + 1 + word.columns <= width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}

extension Substring {
    fileprivate var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension Character {
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]

    fileprivate var columns: Int {
        guard let value = unicodeScalars.first?.value, value >= 0x1100 else { return 1 }
        return Self.wide.contains { $0.contains(value) } ? 2 : 1
    }
}
