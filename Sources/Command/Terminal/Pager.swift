/// A text that is taller than the terminal, below a title line: which part is shown, and what a key does.
struct Pager {
    enum Key: Equatable {
        case up, down, pageUp, pageDown, top, bottom, quit
    }

    var lines: [String] = []
    var title = ""
    /// Lines of the terminal.
    var height: Int
    private(set) var offset = 0

    init(height: Int) { self.height = height }

    /// Lines that are shown below the title.
    private var room: Int { max(1, height - 1) }
    private var lastOffset: Int { max(0, lines.count - room) }

    /// Moves the shown part. Returns false if the key ends the command.
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .up: offset -= 1
        case .down: offset += 1
        case .pageUp: offset -= room
        case .pageDown: offset += room
        case .top: offset = 0
        case .bottom: offset = lastOffset
        case .quit: return false
        }
        offset = min(max(0, offset), lastOffset)
        return true
    }

    /// What is shown: the title, then the shown part, at most `height` lines.
    var frame: [String] {
        let first = min(offset, lastOffset)
        let shown = lines[first..<min(lines.count, first + room)]
        let position = lines.count > room ? "  lines \(first + 1)-\(first + shown.count) of \(lines.count)" : ""
        return [title + position] + shown
    }

    /// The keys in the bytes that a terminal sent. Unknown ones are left out.
    static func keys(in bytes: [UInt8]) -> [Key] {
        var keys: [Key] = []
        var rest = bytes[...]
        while let byte = rest.first {
            if let (sequence, key) = sequences.first(where: { rest.starts(with: $0.0) }) {
                keys.append(key)
                rest = rest.dropFirst(sequence.count)
            } else {
                if let key = letters[byte] { keys.append(key) }
                rest = rest.dropFirst()
            }
        }
        return keys
    }

    private static let sequences: [([UInt8], Key)] = [
        ([0x1B, 0x5B, 0x41], .up), ([0x1B, 0x5B, 0x42], .down), ([0x1B, 0x4F, 0x41], .up), ([0x1B, 0x4F, 0x42], .down),
        ([0x1B, 0x5B, 0x35, 0x7E], .pageUp), ([0x1B, 0x5B, 0x36, 0x7E], .pageDown), ([0x1B, 0x5B, 0x48], .top),
        ([0x1B, 0x5B, 0x46], .bottom),
    ]

    /// As in `less`; 3 is Ctrl-C and 4 is Ctrl-D.
    private static let letters: [UInt8: Key] = [
        UInt8(ascii: "k"): .up, UInt8(ascii: "j"): .down, UInt8(ascii: "b"): .pageUp, UInt8(ascii: " "): .pageDown,
        UInt8(ascii: "g"): .top, UInt8(ascii: "G"): .bottom, UInt8(ascii: "q"): .quit, 3: .quit, 4: .quit,
    ]
}
