/// A malformed schedule. The description has the part, what was expected, and what came.
public struct ScheduleError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Such as `hour: expected 0 to 23, got 25`.
    public let description: String

    init(_ part: String, expected: String, came: String) {
        let shown = came.count > 100 ? came.prefix(100) + "…" : came[...]
        description = "\(part): expected \(expected), got \(shown.isEmpty ? "nothing" : String(shown))"
    }
}
