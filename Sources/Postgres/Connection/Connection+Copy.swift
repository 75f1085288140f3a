import CLibpq

extension Connection {
    /// Adds rows to a table by COPY in binary format, the fastest way. Returns how many.
    ///
    /// - Parameters:
    ///   - table: its name, with its schema before a dot.
    ///   - columns: the columns in the order of each row's values; the others get their defaults.
    ///   - rows: one value a column. They are sent as they are iterated, so that a large sequence needs little memory.
    @discardableResult
    public func copyIn(
        _ table: String, columns: [String], rows: some Sequence<[any PostgresEncodable]> & Sendable
    ) throws(PostgresError) -> Int {
        let connection = try opened()
        let names = columns.map { "\(Identifier($0))" }.joined(separator: ", ")
        try begin("copy \(Identifier(table)) (\(names)) from stdin (format binary)", on: connection)
        // Signature, flags and the length of a header extension: PostgreSQL, COPY, "Binary Format".
        var bytes: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] + [UInt8](repeating: 0, count: 8)
        for row in rows {
            bytes.append(bigEndian: Int16(row.count))
            for value in row {
                var field: [UInt8] = []
                let isValue = value.encode(into: &field)
                bytes.append(bigEndian: isValue ? Int32(field.count) : -1)
                bytes += field
            }
            if bytes.count > 1 << 16 {
                try put(bytes, on: connection)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        bytes.append(bigEndian: Int16(-1))
        try put(bytes, on: connection)
        guard PQputCopyEnd(connection, nil) == 1 else { throw lost(connection, isOutcomeUnknown: true) }
        let results = try results(on: connection, until: configuration.clientDeadline.map { .now + $0 * 12 })
        defer { results.forEach { PQclear($0) } }
        if let failed = results.first(where: { PQresultStatus($0) != PGRES_COMMAND_OK }) {
            throw PostgresError(result: failed)
        }
        return results.first.flatMap { Int(String(cString: PQcmdTuples($0))) } ?? 0
    }

    private func begin(_ sql: String, on connection: OpaquePointer) throws(PostgresError) {
        guard PQsendQuery(connection, sql) == 1 else { throw lost(connection, isOutcomeUnknown: false) }
        let started = try results(on: connection, until: configuration.clientDeadline.map { .now + $0 })
        defer { started.forEach { PQclear($0) } }
        guard let first = started.first, PQresultStatus(first) == PGRES_COPY_IN else {
            while let rest = PQgetResult(connection) { PQclear(rest) }
            throw PostgresError(result: started.first)
        }
    }

    private func put(_ bytes: [UInt8], on connection: OpaquePointer) throws(PostgresError) {
        let sent = bytes.withUnsafeBytes {
            PQputCopyData(connection, $0.baseAddress!.assumingMemoryBound(to: CChar.self), Int32($0.count))
        }
        // 0 means no memory for the buffer: nothing was sent.
        guard sent == 1 else { throw lost(connection, isOutcomeUnknown: true) }
        // Keeps libpq's own buffer small.
        try flush(connection)
    }
}
