/// A histogram of durations. The first bucket is below 1 ms; each next one ends at √2 times the one before.
///
/// The bounds are those of errand.percentile: some twenty buckets for durations up to a second. Empty buckets at the
/// end are omitted.
struct Histogram: Sendable, Hashable {
    /// By bucket, as errand.finished_per_minute keeps them.
    private(set) var counts: [Int32] = []
    /// The last bucket, for durations above 24 days.
    private static let last = 63

    mutating func add(milliseconds: Int64) {
        add(1, to: Self.bucket(of: milliseconds))
    }

    mutating func add(_ other: Histogram) {
        for (bucket, count) in other.counts.enumerated() where count > 0 { add(count, to: bucket) }
    }

    /// The bucket of a time: 0 below 1 ms, else 1 + ⌊2 · log₂⌋.
    static func bucket(of milliseconds: Int64) -> Int {
        guard milliseconds > 0 else { return 0 }
        guard milliseconds < 1 << 31 else { return last }
        let whole = 63 - milliseconds.leadingZeroBitCount
        // At least √2 times the power of two: its square is at least 2 · 4^whole.
        return 1 + 2 * whole + (milliseconds * milliseconds >= 2 << (2 * whole) ? 1 : 0)
    }

    private mutating func add(_ count: Int32, to bucket: Int) {
        if bucket >= counts.count { counts += [Int32](repeating: 0, count: bucket + 1 - counts.count) }
        counts[bucket] &+= count
    }
}

extension Histogram: Encodable {
    func encode(to encoder: any Encoder) throws { try counts.encode(to: encoder) }
}
