import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("Exit codes") struct ExitCodeTests {
    @Test(
        "78 and one line for a setting that can't be used, whatever the command",
        arguments: [
            (
                [:],
                "DATABASE_URL is not set: expected postgresql://user@host:5432/database "
                    + "(\(Setting.databaseURL.purpose))"
            ),
            (["DATABASE_URL": ""], "DATABASE_URL: database URL: expected postgresql://…, got an empty text"),
            (
                ["DATABASE_URL": "postgresql:///x", "ERRAND_QEUES": "a=1"],
                "unknown environment variable ERRAND_QEUES; did you mean ERRAND_QUEUES?"
            ),
            (
                ["DATABASE_URL": "postgresql:///x", "ERRAND_LEASE": "20"],
                "ERRAND_LEASE: expected a duration of 1s to 1h, got '20' (environment ERRAND_LEASE)"
            ),
        ])
    func misconfigured(settings: [String: String], line: String) async throws {
        for command in ["worker", "status", "bench"] {
            let program = try await Program.run([command], settings: settings)
            #expect(program.code == 78)
            #expect(program.error == "errand: \(line)")
            #expect(program.output == "")
        }
    }

    @Test(
        "the program of docs/start.md says what is wrong in a line, and ends with 1",
        arguments: [
            ("greeter", "database URL: expected postgresql://"), ("postgresql://127.0.0.1:1/greeter", "refused"),
        ])
    func ofStart(url: String, words: String) async throws {
        let program = try await Program.run([url], of: "Retry")
        #expect(program.code == 1)
        #expect(program.output.hasPrefix("Greeter: ") && program.output.contains(words), "\(program.output)")
        #expect((program.output + program.errors).split(separator: "\n").count == 1, "\(program.errors)")
    }

    @Test("78 for a URL that can't be read, and nothing of it is shown")
    func malformedURL() async throws {
        for url in ["hunter2", "postgresql://user:hunter2%@host/x", "host=a password"] {
            let program = try await Program.run(["status"], settings: ["DATABASE_URL": url])
            #expect(program.code == 78)
            #expect(program.error.hasPrefix("errand: DATABASE_URL: "))
            #expect(!program.errors.contains("hunter2"))
            #expect(!program.error.contains("\n"))
        }
    }

    @Test("69 and one line if the database is down, without the password")
    func unreachable() async throws {
        let settings = ["DATABASE_URL": "postgresql://user:hunter2@/x?host=/nowhere"]
        for arguments in [["status"], ["migrate"], ["migrate", "--dry-run"], ["enqueue", "noop"]] {
            let program = try await Program.run(arguments, settings: settings)
            #expect(program.code == 69)
            #expect(program.error.hasPrefix("errand: PostgreSQL: no connection: "))
            #expect(!program.errors.contains("hunter2"))
            #expect(!program.error.contains("\n"))
        }
    }

    @Test("a worker waits for a database that is down, and exits with 0 on SIGTERM")
    func waiting() async throws {
        let settings = ["DATABASE_URL": "postgresql:///x?host=/nowhere"]
        let program = try await Program.run(
            ["worker"], settings: settings, signals: [("waiting for the database", SIGTERM)])
        #expect(program.code == 0)
        #expect(program.error.split(separator: "\n").count == 1)
    }

    @Test("64 for a command that can't be read", arguments: ["bogus", "enqueue", "--bogus"])
    func usage(argument: String) async throws {
        let program = try await Program.run([argument])
        #expect(program.code == 64)
        #expect(program.errors.contains("Usage: "))
    }

    @Test(
        "for a misspelt command the most similar one is suggested",
        arguments: [
            ("jbo list", "errand job"), ("job lst --json", "errand job list"), ("worker lsit", "errand worker list"),
        ])
    func nearCommand(line: String, meant: String) async throws {
        let program = try await Program.run(line.split(separator: " ").map(String.init))
        #expect(program.code == 64)
        #expect(program.errors.hasPrefix("errand: did you mean `\(meant)`?\n"))
        #expect(ErrandCommand.likelyCommand(["job", "list", "--bogus"]) == nil)
    }

    @Test("the arguments are those that the process was started with")
    func arguments() {
        #expect(ErrandCommand.arguments == CommandLine.arguments)
    }

    @Test("78 if the database has no schema, an older or a far newer one, with the fix")
    func schema() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await database.execute("delete from errand.script where name = 'views/queues'")
            for command in ["worker", "status"] {
                let older = try await Program.run([command], settings: settings)
                #expect(older.code == 78)
                #expect(older.error.hasSuffix("it lacks views/queues of this program; run `errand migrate`"))
            }
            try await database.execute("insert into errand.upgrade (version, oldest_program) values ('99.1.0', '99')")
            for command in ["worker", "scheduler", "status"] {
                let newer = try await Program.run([command], settings: settings)
                #expect(newer.code == 78)
                #expect(
                    newer.error
                        == "errand: the database was migrated by errand 99.1.0, on which programs before 99.0.0 can't run; "
                        + "this is \(ErrandCommand.version) (run errand 99.1.0)")
            }
            let migrate = try await Program.run(["migrate"], settings: settings)
            #expect(migrate.code == 78)
            #expect(
                migrate.error.hasPrefix(
                    "errand: the database was migrated by errand 99.1.0, and this is \(ErrandCommand.version) ("))
            try await database.execute("drop schema errand cascade")
            for command in ["worker", "status"] {
                let none = try await Program.run([command], settings: settings)
                #expect(none.code == 78)
                #expect(none.error.contains("it lacks migration 0001_queue and "))
            }
        }
    }
}
