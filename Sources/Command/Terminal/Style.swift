import Foundation

/// Colours for people: only on a terminal, and not if `NO_COLOR` is set to anything.
enum Style: String {
    case bold = "1"
    case dim = "2"
    case good = "32"
    case bad = "31"
    case odd = "33"

    /// Whether standard output gets colours.
    static let isOn = isWanted(
        isTerminal: isatty(STDOUT_FILENO) == 1, noColor: variable("NO_COLOR"), terminal: variable("TERM"))

    /// As https://no-color.org says: any value but an empty one turns colours off.
    static func isWanted(isTerminal: Bool, noColor: String?, terminal: String?) -> Bool {
        isTerminal && (noColor ?? "").isEmpty && terminal != "dumb"
    }

    /// The style of a cell that is one of these words; nil for all others.
    static func of(_ cell: String) -> Style? {
        switch cell.trimmingCharacters(in: .whitespaces) {
        case "failed", "lost", "FAIL", "stopped", "down", "open": .bad
        case "succeeded", "ok", "alive", "done", "closed": .good
        case "parked", "obsolete", "cancelled", "warn", "skipped", "late", "drained": .odd
        default: nil
        }
    }

    /// The text in this style, or as it is if there are no colours.
    func applied(to text: String, isOn: Bool = Style.isOn) -> String {
        isOn ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }

    private static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }
}
