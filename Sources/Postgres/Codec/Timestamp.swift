import Foundation

/// A moment, as PostgreSQL's `timestamptz` has it: whole microseconds since 2000-01-01 00:00 UTC.
///
/// Not a `Date`: that is a `Double` and doesn't bring microseconds back.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// `Int64.max` and `.min` are `infinity` and `-infinity`.
    public let microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    public init(_ date: Date) {
        microseconds = Int64((date.timeIntervalSinceReferenceDate * 1_000_000).rounded()) + Self.fromReferenceDate
    }

    public static let infinity = Timestamp(microseconds: .max)
    public static let minusInfinity = Timestamp(microseconds: .min)

    /// From 2000-01-01, where PostgreSQL counts from, to 2001-01-01, where `Date` does: 366 days.
    private static let fromReferenceDate: Int64 = 366 * 86_400_000_000

    /// The same moment, to the microsecond as far as a `Double` has them.
    public var date: Date {
        Date(timeIntervalSinceReferenceDate: Double(microseconds - Self.fromReferenceDate) / 1_000_000)
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    public static func + (left: Timestamp, right: Duration) -> Timestamp {
        Timestamp(microseconds: left.microseconds + right.wholeMicroseconds)
    }

    public static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microseconds - right.microseconds)
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
    /// Whole microseconds, the unit of PostgreSQL's times.
    package var wholeMicroseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }

    /// Whole milliseconds.
    package var wholeMilliseconds: Int64 { wholeMicroseconds / 1000 }
}
