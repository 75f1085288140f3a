/// One number as the rounds gave it.
public struct Series: Sendable, Equatable {
    /// In ascending order; never empty.
    private let sorted: [Double]

    /// nil of no rounds.
    public init?(_ rounds: [Double]) {
        guard !rounds.isEmpty else { return nil }
        sorted = rounds.sorted()
    }

    public var rounds: Int { sorted.count }

    /// The middle one; of an even number the mean of both.
    public var median: Double {
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// From the lowest to the highest round. One round knows nothing of its spread: it counts as a fifth of its value.
    public var spread: Double {
        sorted.count == 1 ? median.magnitude / 5 : sorted[sorted.count - 1] - sorted[0]
    }

    /// The spread as part of the median; 0 if that is 0.
    public var relativeSpread: Double { median == 0 ? 0 : spread / median.magnitude }
}
