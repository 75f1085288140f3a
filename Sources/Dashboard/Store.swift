import Foundation
import Logging
import Postgres

/// Reads and changes the queue, each time as the role that the caller may use.
///
/// Somebody who has not logged in reads as errand_monitor: no payload, output or error. Somebody who has reads and acts
/// as errand_ops, if the database's user is a member of it.
struct Store: Sendable {
    let database: Database

    /// Several queries in one round trip and one read-only transaction.
    func read(as caller: Caller, _ queries: [Query]) async throws -> Results {
        let rows = try await database.pipeline(Self.roles(of: caller) + queries.map(\.statement))
        return try Results(rows)
    }

    /// Calls functions as errand_ops, on behalf of the caller: all or none.
    ///
    /// - Returns: the first column of the last one's first row, if any.
    func act(as caller: Caller, request: String, _ calls: [Statement]) async throws -> String? {
        let person = Statement(
            """
            select set_config('errand.person', $1, true), set_config('errand.request', $2, true),
                set_config('role', 'errand_ops', true)
            """, [caller.person ?? "", request])
        let rows = try await database.pipeline([person] + calls)
        guard let last = rows.last, !last.isEmpty else { return nil }
        return try last.scalar(String?.self)
    }

    /// What comes before each read. The last columns say whether the caller reads content and may act, and the time.
    private static func roles(of caller: Caller) -> [Statement] {
        [
            Statement(
                """
                select
                    set_config('transaction_read_only', 'on', true), set_config('timezone', 'UTC', true),
                    set_config('jit', 'off', true),
                    set_config(
                        'role',
                        case
                            when $1 and pg_has_role(session_user, 'errand_ops', 'member') then 'errand_ops'
                            else 'errand_monitor'
                        end, true)
                """, [caller.isLoggedIn]),
            "select current_user = 'errand_ops', now(), current_database()",
        ]
    }
}

/// A query whose rows become JSON objects, so that each page names its columns once.
struct Query: Sendable {
    let statement: Statement

    init(_ sql: String, _ parameters: [any PostgresEncodable] = []) {
        statement = Statement(
            "select coalesce(jsonb_agg(to_jsonb(shown)), '[]') from (\(sql)) as shown", parameters)
    }
}

/// The rows of several queries.
struct Results: Sendable {
    /// Whether the caller reads content, and may act.
    let isOperator: Bool
    /// The database's time.
    let now: Date
    let databaseName: String
    private let documents: [JSONB]

    fileprivate init(_ rows: [Rows]) throws {
        let now: Timestamp
        (isOperator, now, databaseName) = try rows[1][0].decode(Bool.self, Timestamp.self, String.self)
        self.now = now.date
        documents = try rows.dropFirst(2).map { try $0.scalar(JSONB.self) }
    }

    /// The rows of the query at that index.
    func rows<Row: Decodable>(_ index: Int, of type: Row.Type) throws -> [Row] {
        try Self.decoder.decode([Row].self, from: Data(documents[index].bytes))
    }

    private static let decoder = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }()
}
