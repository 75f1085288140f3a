import Foundation
import Schema
import Testing

@Suite("Schema") struct SchemaTests {
    static let folder = URL(fileURLWithPath: #filePath).appending(path: "../../../sql").standardizedFileURL

    @Test("every .sql file is in the program, byte by byte")
    func holdsEveryFile() throws {
        let paths = FileManager.default.enumerator(atPath: Self.folder.path)?.compactMap { $0 as? String } ?? []
        let expected = try paths.filter { $0.hasSuffix(".sql") }.map { path in
            Schema.Script(
                name: path.replacing("migrations/", with: "").replacing(".sql", with: ""),
                sql: try String(contentsOf: Self.folder.appending(path: path), encoding: .utf8))
        }
        let embedded = Schema.migrations + Schema.functions + Schema.views + Schema.seeds + [Schema.roles]
        #expect(Set(embedded.filter { $0 != Schema.Script(name: "roles", sql: "") }) == Set(expected))
    }
}
