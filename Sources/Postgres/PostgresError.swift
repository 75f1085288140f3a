import CLibpq

/// A failure of PostgreSQL or of the connection to it.
public struct PostgresError: Error, Sendable {
    /// The kind of failure. More may be added: compare, and have a default.
    public struct Code: Hashable, Sendable {
        let name: String
        /// No connection could be opened, or it was lost.
        public static let connectionLost = Code(name: "no connection")
        /// The server replied with an error; see ``PostgresError/sqlState``.
        public static let rejected = Code(name: "rejected by the server")
        /// The server exceeded the statement timeout, or didn't reply by the client's deadline.
        public static let timedOut = Code(name: "timed out")
        /// The calling task was cancelled.
        public static let cancelled = Code(name: "cancelled")
        /// No connection of the pool became free within the wait limit.
        public static let poolExhausted = Code(name: "no connection free")
        /// A value didn't have the expected type or form.
        public static let malformed = Code(name: "malformed value")
        /// The connection settings can't be used.
        public static let configuration = Code(name: "configuration")
        /// The database's schema and this program don't match.
        public static let schema = Code(name: "schema")
    }

    public let code: Code
    /// Five characters, such as `40001`; nil if the server never replied.
    public let sqlState: String?
    /// The message of the server or the client, in one line. It has no SQL and no secret, but may have a value.
    public let detail: String
    /// The server's hint, if any.
    public let hint: String?
    /// True if statements were sent and their reply was lost: they may or may not have been committed.
    public let isOutcomeUnknown: Bool
    /// Which statement of a pipeline the server refused, counted from 0; nil if none.
    package var statement: Int?

    package init(
        _ code: Code, _ detail: String, sqlState: String? = nil, hint: String? = nil, isOutcomeUnknown: Bool = false
    ) {
        self.code = code
        self.sqlState = sqlState
        self.detail = detail.split(whereSeparator: \.isNewline).joined(separator: "; ")
        self.hint = hint
        self.isOutcomeUnknown = isOutcomeUnknown
    }

    /// Whether the same call may succeed later: lost connections, timeouts, deadlocks, serialization failures, full
    /// disks and connection slots, shutdowns, a server that is read-only for now, a database copy that is not adopted
    /// yet.
    public var isTransient: Bool {
        switch code {
        case .connectionLost, .timedOut, .poolExhausted: true
        case .cancelled: false
        default: sqlState.map { Self.transientStates.contains($0) || $0.hasPrefix("53") || $0.hasPrefix("08") } ?? false
        }
    }

    /// Whether the server refused a value that it was sent: class 22 (data), 23 (constraints), 54 (limits), P0 (raised)
    /// or Errand's own.
    package var concernsValue: Bool {
        sqlState.map { state in ["22", "23", "54", "P0", "ER"].contains { state.hasPrefix($0) } && !isTransient }
            ?? false
    }

    /// Whether the server ended the statement because of a timeout or a cancellation.
    package var isStatementTimeout: Bool { sqlState == "57014" }

    /// PostgreSQL, appendix A: serialization failure, deadlock, lock not available, query cancelled, read-only
    /// transaction, shutdowns, idle-session and transaction time-outs; and `ER421` of errand_internal.check_home.
    private static let transientStates: Set<String> = [
        "40001", "40P01", "55P03", "57014", "25006", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04",
        "ER421",
    ]
}

extension PostgresError {
    /// The same error for a statement whose transaction can't have been committed.
    var inOpenTransaction: PostgresError { PostgresError(code, detail, sqlState: sqlState, hint: hint) }
}

extension PostgresError: CustomStringConvertible {
    public var description: String { "PostgreSQL: \(summary): \(detail)\(hint.map { " (\($0))" } ?? "")" }

    /// The kind of failure, without a name or a value: `rejected by the server [28P01]`.
    package var summary: String { code.name + (sqlState.map { " [\($0)]" } ?? "") }
}

extension PostgresError {
    /// The error of a failed result.
    init(result: OpaquePointer?) {
        // The letters are PG_DIAG_SQLSTATE, _MESSAGE_PRIMARY and _MESSAGE_HINT: macros that Swift doesn't import.
        func field(_ letter: Character) -> String? {
            PQresultErrorField(result, Int32(letter.asciiValue!)).map { String(cString: $0) }
        }
        let state = field("C")
        let isGone = state.map { ["57P01", "57P02", "57P03"].contains($0) } ?? false
        let code: Code = isGone ? .connectionLost : state == "57014" ? .timedOut : .rejected
        self.init(
            code, field("M") ?? "no message", sqlState: state, hint: field("H"), isOutcomeUnknown: isGone)
    }
}
