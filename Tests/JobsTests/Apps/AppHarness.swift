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

    /// The tables with rows that have the text, and the number of these.
    func tables(with text: String) async throws -> [String] {
        let tables = try await query(
            """
            select oid::regclass::text from pg_class
            where relkind in ('r', 'p') and not relispartition
                and relnamespace::regnamespace::text in (select name from errand.app union select 'errand')
            order by 1
            """
        ).column(0, as: String.self)
        var found: [String] = []
        for table in tables {
            let count = try await query(
                Statement("select count(*) from \(table) as existing where strpos(existing::text, $1) > 0", [text])
            ).scalar(Int.self)
            if count > 0 { found.append("\(table): \(count)") }
        }
        return found
    }
}
