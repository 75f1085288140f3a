import CLibpq

/// The rows that a statement returned.
public struct Rows: Sendable, RandomAccessCollection {
    /// Owns the result for as long as a row of it is in use.
    final class Result: Sendable {
        /// Read-only since it was made, and libpq lets any thread read a result.
        nonisolated(unsafe) let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) { self.pointer = pointer }

        deinit { PQclear(pointer) }
    }

    private let result: Result
    /// The index of the first row in the result.
    private let offset: Int32
    public let count: Int

    init(_ pointer: OpaquePointer) {
        result = Result(pointer)
        offset = 0
        count = Int(PQntuples(pointer))
    }

    private init(_ result: Result, offset: Int32, count: Int) {
        self.result = result
        self.offset = offset
        self.count = count
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }

    public subscript(index: Int) -> Row {
        precondition(index >= 0 && index < count, "row \(index) of \(count)")
        return Row(result: result, index: offset + Int32(index))
    }

    /// One row, as if the statement had returned no other.
    package func only(_ index: Int) -> Rows {
        precondition(index >= 0 && index < count, "row \(index) of \(count)")
        return Rows(result, offset: offset + Int32(index), count: 1)
    }

    /// The first column of the first row: the result of `select f(…)`.
    ///
    /// - Throws: ``PostgresError`` with code `malformed` if there is no row, or its value isn't a `Value`.
    public func scalar<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> Value {
        guard let first else { throw PostgresError(.malformed, "expected a row with \(Value.self), got none") }
        return try first.value(at: 0, as: type)
    }

    /// The row of a function that always returns one.
    ///
    /// - Throws: ``PostgresError`` with code `malformed` if there is none: program and schema don't match.
    package func row(of function: String) throws(PostgresError) -> Row {
        guard let first else {
            throw PostgresError(
                .malformed, "\(function): expected one row, got none; run `errand migrate` of this version")
        }
        return first
    }

    /// The values of one column, from the first row to the last. For many rows this takes half the time of decoding
    /// each row.
    ///
    /// - Throws: ``PostgresError`` with code `malformed` if a value isn't a `Value`.
    public func column<Value: PostgresDecodable>(
        _ index: Int, as type: Value.Type
    ) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in self { values.append(try row.value(at: Int32(index), as: type)) }
        return values
    }

    /// The command tag: `COMMIT`, `INSERT 0 5`.
    var command: String { String(cString: PQcmdStatus(result.pointer)) }

    /// How many rows an insert, update or delete changed.
    public var affected: Int { Int(String(cString: PQcmdTuples(result.pointer))) ?? 0 }
}

/// One row of a result.
public struct Row: Sendable {
    let result: Rows.Result
    let index: Int32

    /// Decodes the columns from the first one on, each as the type at its index.
    ///
    /// ```swift
    /// let (id, kind, output) = try row.decode(Int64.self, String.self, JSONB?.self)
    /// ```
    /// - Throws: ``PostgresError`` with code `malformed`, which names the column, what was expected and what came.
    public func decode<each Value: PostgresDecodable>(
        _ types: repeat (each Value).Type
    ) throws(PostgresError) -> (repeat each Value) {
        try decode(from: 0, repeat each types)
    }

    /// The same from the column `first` on, counted from 0.
    package func decode<each Value: PostgresDecodable>(
        from first: Int32, _ types: repeat (each Value).Type
    ) throws(PostgresError) -> (repeat each Value) {
        var cursor = Cursor(row: self, column: first)
        return (repeat try cursor.next(each types))
    }

    /// Reads column after column.
    private struct Cursor {
        let row: Row
        var column: Int32

        mutating func next<V: PostgresDecodable>(_ type: V.Type) throws(PostgresError) -> V {
            defer { column += 1 }
            return try row.value(at: column, as: type)
        }
    }

    package var columns: Int { Int(PQnfields(result.pointer)) }

    func value<V: PostgresDecodable>(at column: Int32, as type: V.Type) throws(PostgresError) -> V {
        let pointer = result.pointer
        guard column < PQnfields(pointer) else {
            throw PostgresError(
                .malformed, "column \(column + 1): expected \(V.self), got a row of \(PQnfields(pointer)) columns")
        }
        let id = PQftype(pointer, column)
        guard V.reads(id) else {
            throw PostgresError(.malformed, "column \(name(column)): expected \(V.self), got type \(id)")
        }
        var bytes: UnsafeRawBufferPointer?
        if PQgetisnull(pointer, index, column) == 0 {
            bytes = UnsafeRawBufferPointer(
                start: PQgetvalue(pointer, index, column), count: Int(PQgetlength(pointer, index, column)))
        }
        do {
            return try V(column: bytes, type: id)
        } catch {
            throw PostgresError(.malformed, "column \(name(column)): \(error.detail)")
        }
    }

    private func name(_ column: Int32) -> String {
        PQfname(result.pointer, column).map { String(cString: $0) } ?? "\(column + 1)"
    }
}
