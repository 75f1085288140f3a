import AppSchemas
import AppTestKit
import EngineSchema
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import EmbedText

@Suite("Schemas") struct SchemaTests {
    static let folder = URL(fileURLWithPath: #filePath).appending(path: "../../../sql").standardizedFileURL

    @Test(
        "every .sql file is in the program, byte by byte but for lists of columns, before its comment",
        arguments: ["engine", "apps"])
    func holdsEveryFile(name: String) throws {
        let parts = name == "engine" ? [EngineSchema.part] : AppSchemas.all
        let folder = Self.folder.appending(path: name)
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        var expected: [String: String] = [:]
        for path in paths where path.hasSuffix(".sql") {
            let script = path.replacing("migrations/", with: "").replacing(".sql", with: "")
            expected[script] = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
        }
        let columns = try Columns(
            expected.removeValue(forKey: "columns").map { ScriptFile(path: "columns.sql", text: $0) })
        let embedded = Migrator(version: EngineSchema.version, parts: parts).scripts
            .filter { $0.name != "declarations" && !$0.name.hasSuffix("/declarations") }
        #expect(Set(embedded.map(\.name)) == Set(expected.keys))
        for script in embedded {
            let file = ScriptFile(path: script.name, text: try #require(expected[script.name]))
            let text = columns.expanded(in: file).text
            let added = script.sql.dropFirst(text.count)
            #expect(script.sql.hasPrefix(text) && (added.isEmpty || added.hasPrefix("comment on function ")))
        }
    }

    @Test("every table has a primary key or a replica identity, without which a publication refuses its deletes")
    func identities() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("select errand_internal.make_partitions(9)")
            let lacking = try await database.query(
                """
                select pg_class.oid::regclass::text
                from pg_class
                where relnamespace = any (errand_internal.namespaces()) and relkind in ('r', 'p') and relnatts > 0
                    and relreplident = 'd'
                    and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)
                """)
            #expect(try lacking.column(0, as: String.self) == [])
        }
    }

    @Test("no function's literals depend on the caller's standard_conforming_strings")
    func literals() async throws {
        try await withAppDatabase { database, _ in
            // What is left without comments and E'…'.
            let dependent = try await database.query(
                #"""
                select oid::regprocedure::text
                from pg_proc
                where pronamespace = any (errand_internal.namespaces())
                    and strpos(regexp_replace(prosrc, $$--[^\n]*|\mE'([^']|'')*'$$, '', 'g'), E'\\') > 0
                """#)
            #expect(try dependent.column(0, as: String.self) == [])
        }
    }

    @Test("an app comes behind those that it needs, and can't be had without them")
    func needs() throws {
        for (index, app) in AppSchemas.all.enumerated() {
            let before = AppSchemas.names.prefix(index)
            #expect(Set(before).isSuperset(of: app.needs), "\(app.name)")
            let applied = try AppSchemas.named([app.name] + before.reversed()).map(\.name)
            #expect(applied == before + [app.name])
            for need in app.needs {
                let others = [app.name] + before.filter { $0 != need }
                #expect(throws: MissingApp.self) { try AppSchemas.named(others) }
            }
        }
        #expect(AppSchemas.all.contains { !$0.needs.isEmpty })
        #expect(throws: UnknownApp.self) { try AppSchemas.named(["film"]) }
        #expect(try AppSchemas.named([]).isEmpty)
    }
}
