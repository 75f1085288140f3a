import Foundation

/// One line on standard error that shows how far a long command is. Nothing is written unless it is a terminal.
struct ProgressBar {
    private let isShown = isatty(STDERR_FILENO) == 1

    /// Overwrites the line. `share` is how much is done, 0 to 1.
    func show(_ share: Double, _ text: String) {
        guard isShown else { return }
        writeError("\r" + Self.line(share, text, width: TextTable.terminalWidth - 1) + "\u{1B}[K", end: "")
    }

    /// Removes the line.
    func end() {
        if isShown { writeError("\r\u{1B}[K", end: "") }
    }

    /// `[######------------------]  25 % text`, no longer than `width`.
    static func line(_ share: Double, _ text: String, width: Int) -> String {
        let share = min(max(share.isFinite ? share : 0, 0), 1)
        let length = 24
        let filled = Int(share * Double(length))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: length - filled)
        let percent = "\(Int(share * 100))"
        return "[\(bar)] \(String(repeating: " ", count: 3 - percent.count))\(percent) % \(text.printable)".cut(
            to: width)
    }
}
