import Foundation
import Logging
import Postgres
import Testing

@testable import Command

@Suite("Settings of several cells") struct CellSettingsTests {
    private func cells(_ text: String) throws -> [Cell] { try environment(["DATABASE_URL": text]).cells() }

    private func environment(_ variables: [String: String]) throws -> Environment {
        Environment(
            settings: try Settings.load(environment: variables), logger: Logger(label: "test"), logFormat: .text)
    }

    @Test(
        "URLs with spaces or line breaks between are cells, each named by its address without its user",
        arguments: [" ", "\n", "\n  \t"])
    func list(gap: String) throws {
        let cells = try cells(
            "postgresql://a:hunter2@db0/q" + gap + "postgres://b@db1:6432,db2:6432/q" + gap
                + "postgresql:///q?host=/run/postgresql")
        #expect(cells.map(\.name) == ["db0/q", "db1,db2:6432,6432/q", "/run/postgresql/q"])
        #expect(cells[0].logger[metadataKey: "cell"] == "db0/q")
    }

    @Test(
        "one database has no name, in each form that libpq takes",
        arguments: [
            "postgresql://a@db0/q", "postgresql://a@db0,db1/q?target_session_attrs=any", "host=db0 user=a dbname=q",
        ])
    func one(text: String) throws {
        let cells = try cells(text)
        #expect(cells.count == 1 && cells[0].name == nil && cells[0].logger[metadataKey: "cell"] == nil)
    }

    @Test("the file has them as a list, and DATABASE_URL wins over it")
    func file() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"cells": ["postgresql://db0/q", "postgresql://db1/q"]}"#.utf8).write(to: file)
        #expect(try environment(["ERRAND_CONFIG": file.path]).cells().map(\.name) == ["db0/q", "db1/q"])
        let one = try environment(["ERRAND_CONFIG": file.path, "DATABASE_URL": "postgresql://db2/q"])
        #expect(try one.cells().map(\.configuration.description) == ["db2/q"])
    }

    @Test(
        "a list with a fault is refused by its number, without a password",
        arguments: [
            (
                "postgresql://a:hunter2@db0/q postgresql://a:hunter2@[db1/q",
                "DATABASE_URL, URL 2 of 2: database URL: expected postgresql://user@host:5432/database"
            ),
            (
                "postgresql://a:hunter2@db0/q postgresql://b:hunter2@db0/q",
                "DATABASE_URL: expected each database once, got db0/q twice"
            ),
            (
                "postgresql://a:hunter2@db0/q,postgresql://a:hunter2@db1/q",
                "DATABASE_URL: expected a URL, or several with spaces between, got something else"
            ),
            (
                "postgresql://a:hunter2@db0/q, postgresql://a:hunter2@db1/q",
                "DATABASE_URL: expected a URL, or several with spaces between, got something else"
            ),
        ])
    func faults(text: String, expected: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try cells(text) }
        #expect(error.description.hasPrefix(expected) && !error.description.contains("hunter2"), "\(error)")
    }

    @Test(
        "a command that is about one database refuses several, and says what to do",
        arguments: [["status"], ["enqueue", "noop"], ["job", "list"], ["migrate", "--cell", "1"]])
    func refused(arguments: [String]) async throws {
        let program = try await Program.run(
            arguments, settings: ["DATABASE_URL": "postgresql://a:hunter2@db0/q postgresql://a:hunter2@db1/q"])
        #expect(program.code == 78)
        #expect(program.error.hasPrefix("errand: DATABASE_URL: expected one database for"), "\(program.error)")
        #expect(!program.errors.contains("hunter2"))
    }
}
