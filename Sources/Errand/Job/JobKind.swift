/// Which handler runs a job: `image_compression`. One word of the field in Swift, SQL, logs and metrics.
public struct JobKind: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String

    /// Takes any text; PostgreSQL accepts a-z, then up to 99 of a-z 0-9 `_` `.` `-`, and refuses others at the enqueue.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension JobKind: ExpressibleByStringLiteral, CustomStringConvertible, Comparable {
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    public var description: String { rawValue }

    public static func < (left: JobKind, right: JobKind) -> Bool { left.rawValue < right.rawValue }
}
