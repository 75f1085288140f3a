import Histogram

/// Durations in microseconds, kept to three significant digits in constant space.
public struct Latencies: Sendable {
    /// Up to ten minutes; what is longer counts as that.
    private static let longest: UInt64 = 600_000_000
    private var histogram = Histogram<UInt64>(highestTrackableValue: longest, numberOfSignificantValueDigits: .three)

    public init() {}

    public init(microseconds: some Sequence<Int>) {
        for value in microseconds { record(microseconds: value) }
    }

    public var count: Int { Int(histogram.totalCount) }

    /// A clock that went back counts as no time.
    public mutating func record(microseconds: Int) {
        histogram.record(min(UInt64(max(microseconds, 0)), Self.longest))
    }

    public mutating func add(_ other: Latencies) { histogram.add(other.histogram) }

    /// Milliseconds that so many percent don't exceed; 0 of none.
    public func percentile(_ percent: Double) -> Double {
        count == 0 ? 0 : Double(histogram.valueAtPercentile(percent)) / 1000
    }

    /// Median, 99th percentile and longest, in milliseconds; nothing of none.
    public var values: Values {
        count == 0 ? [:] : [.p50: percentile(50), .p99: percentile(99), .longest: percentile(100)]
    }
}
