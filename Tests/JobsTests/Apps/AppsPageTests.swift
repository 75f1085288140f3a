import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("The flows of docs/apps.md") struct AppsPageTests {
    /// What a reader meets in the page, from top to bottom.
    private enum Part: Equatable {
        case sql(String)
        case answer(String)
        case role(String)
    }

    @Test("psql with the role that the page names answers what the page shows")
    func flows() async throws {
        let page = URL(fileURLWithPath: #filePath).appending(path: "../../../../docs/apps.md").standardizedFileURL
        let parts = Self.parts(of: try String(contentsOf: page, encoding: .utf8))
        #expect(parts.count { if case .answer = $0 { true } else { false } } >= 6)
        try await withTestDatabase { database, configuration in
            // It is copied from one that may have been made days ago.
            try await database.execute("select quotes.rotate_v1()")
            var role = "errand_enqueuer"
            var answer = ""
            for part in parts {
                switch part {
                case .sql(let sql): answer = try psql(sql, of: configuration, as: role)
                case .answer(let expected): #expect(answer == expected)
                case .role(let name): role = name
                }
            }
        }
    }

    /// The fenced blocks, and the remarks that say who types what follows.
    private static func parts(of page: String) -> [Part] {
        page.matches(of: /```(sql|text)\n((?s:.*?))```|<!-- as (.*?) -->/).map { match in
            if let role = match.3 { return .role(String(role)) }
            let body = String(match.2 ?? "")
            return match.1 == "sql" ? .sql(body) : .answer(body)
        }
    }
}
