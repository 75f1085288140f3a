import AppSchemas
import EngineSchema
import Foundation
import Postgres
import Testing

@Suite("Schemas") struct SchemaTests {
    static let folder = URL(fileURLWithPath: #filePath).appending(path: "../../../sql").standardizedFileURL

    @Test("every .sql file is in the program, byte by byte", arguments: ["engine", "apps"])
    func holdsEveryFile(name: String) throws {
        let parts = name == "engine" ? [EngineSchema.part] : AppSchemas.all
        let folder = Self.folder.appending(path: name)
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        var expected: [String: String] = [:]
        for path in paths where path.hasSuffix(".sql") {
            let script = path.replacing("migrations/", with: "").replacing(".sql", with: "")
            expected[script] = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
        }
        let embedded = Migrator(version: EngineSchema.version, parts: parts).scripts
        #expect(Dictionary(uniqueKeysWithValues: embedded.map { ($0.name, $0.sql) }) == expected)
    }

    @Test("an app comes behind those that it needs, and can't be had without them")
    func needs() throws {
        let needed = ["devices", "media", "notify", "rooms"]
        let applied = try AppSchemas.named(["events"] + needed).map(\.name)
        #expect(applied.last == "events" && Set(applied.dropLast()) == Set(needed))
        #expect(throws: MissingApp.self) { try AppSchemas.named(["events", "media"]) }
        #expect(throws: MissingApp.self) { try AppSchemas.named(["events"]) }
        #expect(throws: UnknownApp.self) { try AppSchemas.named(["medias"]) }
        #expect(try AppSchemas.named([]).isEmpty)
    }
}
