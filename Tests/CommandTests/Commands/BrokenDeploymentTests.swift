import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("Broken deployments: what errand doctor says, and its exit code") struct BrokenDeploymentTests {
    private struct Line: Decodable { let check: String, result: String, detail: String, fix: String? }

    /// The first failed check of `errand doctor --as scheduler`, which needs no store and no image program.
    private func examine(
        _ settings: [String: String], as role: String = "scheduler"
    ) async throws -> (code: Int32, failed: Line?) {
        let settings = ["ERRAND_WEB_ADDRESS": "127.0.0.1:0"].merging(settings) { $1 }
        let program = try await Program.run(["doctor", "--json", "--as", role], settings: settings)
        let lines = try JSONDecoder().decode([Line].self, from: Data(program.output.utf8))
        return (program.code, lines.first { $0.result == "failed" })
    }

    @Test("a database that isn't there: 78, and its name in DATABASE_URL is to be corrected")
    func unknownDatabase() async throws {
        try await withTestDatabase { _, configuration in
            let url = try TestServer.url(of: configuration, directly: true)
            let name = try #require(URLComponents(string: url)?.path.dropFirst())
            let settings = ["DATABASE_URL": url.replacingOccurrences(of: "/\(name)", with: "/not_\(name)")]
            let (code, failed) = try await examine(settings)
            #expect(code == 78)
            #expect(failed?.check == "database")
            #expect(failed?.detail.contains("does not exist") == true)
            #expect(failed?.fix == "correct the database's name in DATABASE_URL, or create it")
            #expect(try await Program.run(["status"], settings: settings).code == 78)
        }
    }

    @Test("a host name that doesn't resolve: 69")
    func unknownHost() async throws {
        let settings = ["DATABASE_URL": "postgresql://user:hunter2@no-such-host.invalid/x"]
        let (code, failed) = try await examine(settings)
        #expect(code == 69)
        #expect(failed?.fix?.hasPrefix("correct the host in DATABASE_URL") == true)
        #expect(failed?.detail.contains("hunter2") == false)
    }

    @Test("no connection is free: 69; one where three are needed: 69, by the check of wake-ups")
    func connectionLimit() async throws {
        try await withTestDatabase { database, configuration in
            try await withLogin("connection limit 0", of: configuration, on: database) { settings, _ in
                let (code, failed) = try await examine(settings)
                #expect(code == 69)
                #expect(failed?.check == "database")
                #expect(failed?.fix?.hasPrefix("raise the role's or the database's connection limit") == true)
            }
            try await withLogin("connection limit 1", of: configuration, on: database) { settings, _ in
                let (code, failed) = try await examine(settings, as: "worker")
                #expect(code == 69)
                #expect(failed?.check == "wake-ups")
                #expect(failed?.fix == "allow this user three connections at least")
            }
        }
    }

    @Test("read-only sessions: the fix names the role, the database or the URL, whichever has the setting")
    func readOnly() async throws {
        try await withTestDatabase { database, configuration in
            try await withLogin(of: configuration, on: database) { settings, name in
                let setting = "default_transaction_read_only"
                let here = try await database.query("select current_database()::text").scalar(String.self)
                let (role, base) = ("role \"\(name)\"", "database \"\(here)\"")
                for target in [role, "\(role) in \(base)", base] {
                    try await database.execute(Statement("alter \(target) set \(setting) = on"))
                    let (code, failed) = try await examine(settings)
                    #expect(code == 78 && failed?.check == "writes")
                    #expect(failed?.fix == "alter \(target) reset \(setting)")
                    try await database.transaction { transaction in
                        try await transaction.execute("set transaction read write")
                        try await transaction.execute(Statement("alter \(target) reset \(setting)"))
                    }
                }
                let url = try reaching(configuration, options: "-c \(setting)=on")
                #expect(try await examine(url).failed?.fix?.hasPrefix("remove \(setting) from the options") == true)
            }
        }
    }

    @Test("a role without one of its rights: 78, its name, and a migration as the fix, at a start too")
    func revokedRight() async throws {
        try await withTestDatabase { database, configuration in
            try await withLogin(of: configuration, on: database) { settings, name in
                let heartbeat = "function errand_internal.heartbeat_v1(bigint[],integer,jsonb,text)"
                try await database.execute(Statement("revoke execute on \(heartbeat) from errand_worker"))
                let (code, failed) = try await examine(settings)
                let grant = "grant EXECUTE on \(heartbeat) to errand_worker"
                #expect(code == 78)
                #expect(failed?.detail == "errand_worker lacks 1 of its rights: \(grant)")
                #expect(failed?.fix == "run `errand migrate`, which grants them")
                let worker = try await Program.run(["worker"], settings: settings)
                #expect(worker.code == 78)
                #expect(
                    worker.error == "errand: \(name) is a member of errand_worker, which lacks 1 of its rights: "
                        + "`\(grant)`; run `errand migrate`, which grants them")
                #expect(try await Program.run(["migrate"], settings: reaching(configuration)).code == 0)
                #expect(try await examine(settings).code == 0)
            }
            try await database.execute("revoke select on errand.audit from errand_ops")
            let ops = try await examine(reaching(configuration, options: "-c role=errand_ops"), as: "ops")
            #expect(
                ops.failed?.detail
                    == "errand_ops lacks 1 of its rights: grant SELECT on table errand.audit to errand_ops")
        }
    }

    @Test("a schema that is too new: 78, and the version to run")
    func newerSchema() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("insert into errand.upgrade (version, oldest_program) values ('99.1.0', '99')")
            let (code, failed) = try await examine(reaching(configuration))
            #expect(code == 78)
            #expect(failed?.check == "schema")
            #expect(failed?.fix == "run errand 99.1.0")
        }
    }

    @Test("errand-image isn't beside errand: 69, and a worker whose jobs need it warns at its start")
    func noImageProgram() async throws {
        try await withAppDatabase { database, configuration in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("alone-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            let program = folder.appendingPathComponent("errand")
            try FileManager.default.copyItem(at: built.appendingPathComponent("errand"), to: program)
            let settings = try reaching(configuration).merging(["ERRAND_WEB_ADDRESS": "127.0.0.1:0"]) { $1 }
            let doctor = try await Program.run(
                ["doctor", "--json", "--as", "worker"], of: program.path, settings: settings)
            #expect(doctor.code == 69)
            let lines = try JSONDecoder().decode([Line].self, from: Data(doctor.output.utf8))
            let failed = lines.first { $0.result == "failed" }
            #expect(failed?.check == "image program")
            #expect(failed?.fix?.hasPrefix("put errand-image beside errand") == true)
            for warns in [true, false] {
                if !warns { try await database.execute("delete from errand.app") }
                let worker = try await Program.run(
                    ["worker"], of: program.path, settings: settings, signals: [("registered", SIGTERM)])
                let lines = worker.errors.split(separator: "\n")
                #expect(lines.contains { $0.contains("the image program is missing") } == warns, "\(worker.errors)")
            }
        }
    }

    @Test(
        "what the server and libpq say about a refused connection leads to its fix and exit code",
        arguments: [
            (#"FATAL:  password authentication failed for user "a""#, "correct the password in DATABASE_URL", true),
            ("fe_sendauth: no password supplied", "add the password to DATABASE_URL", true),
            (#"FATAL:  role "a" does not exist"#, "correct the user in DATABASE_URL", true),
            (#"FATAL:  no pg_hba.conf entry for host "10.0.0.7""#, "add a line for this host", true),
            ("FATAL:  sorry, too many clients already", "raise max_connections", false),
            (#"FATAL:  too many connections for role "a""#, "raise the role's or the database's", false),
            ("connection refused", "start PostgreSQL, or correct DATABASE_URL", false),
        ])
    func advice(text: String, fix: String, isConfiguration: Bool) {
        let advice = ConnectionAdvice(for: "connection to server failed: \(text)")
        #expect(advice.fix.hasPrefix(fix))
        #expect(advice.isConfiguration == isConfiguration)
    }

    @Test(
        "a clock that is five minutes off: 1; within a second, or within the uncertainty of a slow round trip, none is")
    func clock() {
        for skew in [-300.0, 300.0, 1.2] {
            let finding = Diagnostics.finding(ofSkew: skew, within: 0.1)
            #expect(finding.result == .failed && finding.code == 1)
            #expect(finding.fix?.contains("NTP") == true)
        }
        for (skew, uncertainty) in [(0.9, 0.0), (-1.05, 0.1), (3, 2.5)] {
            #expect(Diagnostics.finding(ofSkew: skew, within: uncertainty).result == .ok)
        }
    }
}
