/// Names what a job does, and so which handler runs it: `image_compression`. Swift, SQL, logs and metrics use the same
/// name.
public struct JobKind: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String

    /// Accepts any text. At the enqueue PostgreSQL accepts a-z, then up to 99 of a-z 0-9 `_` `.` `-`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension JobKind: ExpressibleByStringLiteral, CustomStringConvertible, Comparable {
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    public var description: String { rawValue }

    public static func < (left: JobKind, right: JobKind) -> Bool { left.rawValue < right.rawValue }
}
