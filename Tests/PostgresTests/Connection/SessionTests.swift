import ErrandTestKit
import Foundation
import Logging
import Testing

@testable import Postgres

@Suite("What the statements of a session rely on") struct SessionTests {
    @Test("is as they need it, whatever the database or the URL sets")
    func fixed() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute(
                """
                do $$
                begin
                    execute format('alter database %I set default_transaction_isolation = serializable', current_database());
                    execute format('alter database %I set standard_conforming_strings = off', current_database());
                    execute format('alter database %I set search_path = shadow, pg_catalog', current_database());
                end
                $$
                """)
            let url = try TestServer.url(of: configuration, directly: true)
            var named = try #require(URLComponents(string: url))
            let options = URLQueryItem(name: "options", value: "-c default_transaction_isolation=serializable")
            named.queryItems = (named.queryItems ?? []) + [options]
            for url in [url, try #require(named.string)] {
                let configuration = try PostgresConfiguration(url: url)
                #expect(
                    try await settings(configuration.forOwnStatements)
                        == ["read committed", "on", "pg_catalog,pg_temp"])
                // Those of handlers find their tables as elsewhere.
                #expect(try await settings(configuration) == ["read committed", "on", "shadow, pg_catalog"])
            }
        }
    }

    private func settings(_ configuration: PostgresConfiguration) async throws -> [String] {
        let connection = try await Connection.connect(configuration, logger: Logger(label: "test"))
        let level: Statement = "select current_setting('transaction_isolation')"
        let path: Statement = "select current_setting('search_path')"
        let alone = try await connection.query(level).scalar(String.self)
        let rows = try await connection.pipeline([
            level.prepared, "select current_setting('standard_conforming_strings')", path,
        ]).map { try $0.scalar(String.self) }
        #expect(rows[0] == alone)
        #expect(try await connection.transaction { try await $0.query(level).scalar(String.self) } == alone)
        await connection.close()
        return rows
    }
}
