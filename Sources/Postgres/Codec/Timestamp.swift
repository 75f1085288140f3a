import Foundation

/// A moment, as PostgreSQL's `timestamptz` has it: whole microseconds since 2000-01-01 00:00 UTC.
///
/// Not a `Date`, which is a `Double` and loses microseconds.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// `Int64.max` and `.min` are `infinity` and `-infinity`.
    public let microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// A date that is too far for PostgreSQL becomes ``infinity`` or ``minusInfinity``.
    public init(_ date: Date) {
        let exact = (date.timeIntervalSinceReferenceDate * 1_000_000).rounded() + Double(Self.fromReferenceDate)
        microseconds = Int64(exactly: exact) ?? (exact < 0 ? .min : .max)
    }

    public static let infinity = Timestamp(microseconds: .max)
    public static let minusInfinity = Timestamp(microseconds: .min)

    /// From 2000-01-01, where PostgreSQL counts from, to 2001-01-01, where `Date` does: 366 days.
    private static let fromReferenceDate: Int64 = 366 * 86_400_000_000

    /// The same moment, as precise as a `Double` is. For ``infinity`` and ``minusInfinity`` it is some 292,000 years
    /// away.
    public var date: Date {
        let (since, isOver) = microseconds.subtractingReportingOverflow(Self.fromReferenceDate)
        return Date(timeIntervalSinceReferenceDate: Double(isOver ? .min : since) / 1_000_000)
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    public static func + (left: Timestamp, right: Duration) -> Timestamp {
        guard left != .infinity, left != .minusInfinity else { return left }
        let (sum, isOver) = left.microseconds.addingReportingOverflow(right.wholeMicroseconds)
        return isOver ? (right < .zero ? .minusInfinity : .infinity) : Timestamp(microseconds: sum)
    }

    public static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microseconds) - .microseconds(right.microseconds)
    }
}

extension Timestamp: CustomStringConvertible {
    /// ISO 8601 in UTC with milliseconds: `2026-11-21T06:27:53.553Z`.
    public var description: String {
        switch self {
        case .infinity: "infinity"
        case .minusInfinity: "-infinity"
        default: date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        }
    }
}

extension Duration {
    /// Whole microseconds, the unit of PostgreSQL's times. Longer durations are clamped to some 292,000 years.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, isSumOver) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000)
        return isOver || isSumOver ? (seconds < 0 ? .min : .max) : sum
    }

    /// Whole milliseconds.
    package var wholeMilliseconds: Int64 { wholeMicroseconds / 1000 }
}
