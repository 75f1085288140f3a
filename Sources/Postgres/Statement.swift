/// One SQL statement and the values of its parameters `$1`, `$2`, …
///
/// Statements stay unnamed on the server: that works behind every pooler, and what is hot is a function whose plan the
/// server keeps.
public struct Statement: Sendable {
    let sql: String
    let parameters: [any PostgresEncodable]

    public init(_ sql: String, _ parameters: [any PostgresEncodable] = []) {
        self.sql = sql
        self.parameters = parameters
    }
}

extension Statement: ExpressibleByStringLiteral {
    public init(stringLiteral sql: String) { self.init(sql) }
}

/// The parameters of a statement in PostgreSQL's binary form, one after the other.
struct EncodedParameters {
    private(set) var types: [UInt32] = []
    /// Where each value lies in `bytes`; nil is NULL.
    private(set) var ranges: [Range<Int>?] = []
    private(set) var bytes: [UInt8] = []

    init(_ parameters: [any PostgresEncodable]) {
        for parameter in parameters {
            let start = bytes.count
            let isValue = parameter.encode(into: &bytes)
            types.append(type(of: parameter).postgresType.scalar)
            ranges.append(isValue ? start..<bytes.count : nil)
        }
    }

    /// Calls `body` with what PQsendQueryParams takes: number, types, values, lengths, formats.
    func withPointers<R>(
        _ body: (Int32, [UInt32], [UnsafePointer<CChar>?], [Int32], [Int32]) throws(PostgresError) -> R
    ) throws(PostgresError) -> R {
        // One byte more than needed: a value of length 0 still needs an address, or libpq would send NULL.
        let padded = bytes + [0]
        let result: Result<R, PostgresError> = padded.withUnsafeBytes { buffer in
            let base = buffer.baseAddress!.assumingMemoryBound(to: CChar.self)
            let values = ranges.map { range in range.map { base + $0.lowerBound } }
            let lengths = ranges.map { Int32($0?.count ?? 0) }
            return Result { () throws(PostgresError) in
                try body(Int32(types.count), types, values, lengths, [Int32](repeating: 1, count: types.count))
            }
        }
        return try result.get()
    }
}
