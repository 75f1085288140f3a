/// A time zone: its offsets from UTC, and when they change.
///
/// Made from the system's time-zone data, so that a country's new rule takes effect by an update of the system, without
/// a new version of the program, and as PostgreSQL has it. Times are seconds since 1970: in UTC, or on the local clock.
public struct Zone: Sendable, Hashable {
    public let name: String
    /// The moments at which the offset changes, in UTC.
    private let changes: [Int64]
    /// In seconds; the one before the first change comes first, so that there is one more.
    private let offsets: [Int64]

    /// Universal time, which needs no data.
    public static let utc = Zone(name: "UTC", offsets: [0], changes: [])

    /// - Parameter changes: in order. One that changes nothing is left out.
    init(name: String, offsets: [Int64], changes: [Int64]) {
        precondition(offsets.count == changes.count + 1)
        self.name = name
        var newOffsets = [offsets[0]]
        var newChanges: [Int64] = []
        for (change, offset) in zip(changes, offsets.dropFirst()) where offset != newOffsets.last {
            newChanges.append(change)
            newOffsets.append(offset)
        }
        self.offsets = newOffsets
        self.changes = newChanges
    }
}

// MARK: - Stretches of time
extension Zone {
    /// A stretch of time with one offset.
    struct Stretch: Equatable {
        let index: Int
        /// In UTC; the first and the last stretch have no bounds.
        let start: Int64
        let end: Int64
        let offset: Int64

        var localStart: Int64 { start == .min ? .min : start + offset }
        var localEnd: Int64 { end == .max ? .max : end + offset }
    }

    func stretch(_ index: Int) -> Stretch {
        Stretch(
            index: index, start: index == 0 ? .min : changes[index - 1],
            end: index == changes.count ? .max : changes[index], offset: offsets[index])
    }

    /// The stretch with this moment. Costs a binary search.
    func stretch(at time: Int64) -> Stretch {
        var low = 0
        var high = changes.count
        while low < high {
            let middle = (low + high) / 2
            if changes[middle] <= time { low = middle + 1 } else { high = middle }
        }
        return stretch(low)
    }

    func stretch(after stretch: Stretch) -> Stretch? {
        stretch.index < changes.count ? self.stretch(stretch.index + 1) : nil
    }

    func stretch(before stretch: Stretch) -> Stretch? {
        stretch.index > 0 ? self.stretch(stretch.index - 1) : nil
    }
}

// MARK: - Between UTC and the local clock
extension Zone {
    /// No clock was ever farther from UTC than this, nor put back by more than twice as much.
    private static let mostOffset: Int64 = 16 * 3600

    func localTime(at time: Int64) -> Int64 { time + stretch(at: time).offset }

    /// The first moment at which the local clock shows `local` or later.
    ///
    /// So a time that occurs twice is the first of the two, and a skipped time is the moment of the change.
    func firstMoment(showing local: Int64) -> Int64 {
        var stretch = stretch(at: local - Self.mostOffset)
        while stretch.localEnd <= local, let next = self.stretch(after: stretch) { stretch = next }
        return max(stretch.start, local - stretch.offset)
    }

    /// The highest that the local clock has shown, up to and with the moment `time`.
    func highestLocalTime(through time: Int64) -> Int64 {
        var stretch = stretch(at: time)
        var highest = time + stretch.offset
        while stretch.index > 0, stretch.start > time - 2 * Self.mostOffset {
            stretch = self.stretch(stretch.index - 1)
            highest = max(highest, stretch.localEnd - 1)
        }
        return highest
    }

    /// Whether a date has any moment here, its number counted from 1970-01-01. Samoa skipped 30 December 2011.
    func hasDay(_ number: Int64) -> Bool {
        localTime(at: firstMoment(showing: number * 86400)) < (number + 1) * 86400
    }
}
