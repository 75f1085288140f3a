import Foundation

/// An hour of a queue as the points of an SVG polyline, in a box of 120 by 24.
struct Sparkline: Sendable, Equatable {
    /// `0,24 2,18 …`
    let points: String
    /// The same, closed along the bottom, to fill.
    let area: String
    /// For people who don't see it: `at most 1 200 a minute, 900 in the last one`.
    let summary: String

    /// - Parameter minutes: attempts by minute, the oldest first.
    /// - Returns: nil if there were none.
    init?(minutes: [Int]) {
        guard minutes.count > 1, let most = minutes.max(), most > 0 else { return nil }
        let step = 120 / Double(minutes.count - 1)
        let pairs = minutes.enumerated().map { index, number in
            let height = 22.5 - 21 * Double(number) / Double(most)
            return String(format: "%.1f,%.1f", Double(index) * step, height)
        }
        points = pairs.joined(separator: " ")
        area = "0,24 \(points) 120,24"
        let last = minutes[minutes.count - 1]
        summary = "last hour: at most \(Amount.count(most)) a minute, \(Amount.count(last)) in the last whole minute"
    }
}
