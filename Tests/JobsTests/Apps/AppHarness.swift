import ErrandTestKit
import Foundation
import Postgres

extension Database {
    /// The result of a query as text: bars between columns, line ends between rows, null as an empty text.
    func lines(_ sql: String) async throws -> [String] {
        let rows = try await query(
            Statement(
                """
                select (
                    select string_agg(coalesce(value, ''), '|' order by ordinal)
                    from json_each_text(to_json(answer)) with ordinality as field(key, value, ordinal)
                )
                from (\(sql)) as answer
                """))
        return try rows.column(0, as: String?.self).map { $0 ?? "" }
    }

    func number(_ sql: String) async throws -> Int {
        try await query(Statement(sql)).scalar(Int.self)
    }
}
