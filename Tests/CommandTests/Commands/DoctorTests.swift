import AppSchemas
import AppTestKit
import ErrandImages
import ErrandTestKit
import Foundation
import Jobs
import Postgres
import Testing

@testable import Command

@Suite("errand doctor") struct DoctorTests {
    struct Line: Decodable, Equatable { let cell: String?, check: String, result: String, detail: String, fix: String? }

    /// As a scheduler it takes a tenth of the time: it doesn't decode and encode a photo of each format.
    private func examine(
        _ settings: [String: String], as role: String? = nil
    ) async throws -> (code: Int32, lines: [Line]) {
        // A free address for health and metrics, unless a test sets another.
        let settings = ["ERRAND_WEB_ADDRESS": "127.0.0.1:0"].merging(settings) { $1 }
        let arguments = ["doctor", "--json"] + (role.map { ["--as", $0] } ?? [])
        let program = try await Program.run(arguments, settings: settings)
        return (program.code, try JSONDecoder().decode([Line].self, from: Data(program.output.utf8)))
    }

    @Test("without problems each check prints ok, and it exits with 0")
    func healthy() async throws {
        try await withAppDatabase { database, configuration in
            // Without the pooler, which would cause a warning.
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let settings = [
                "DATABASE_URL": try TestServer.url(of: configuration, directly: true), "STORAGE_URL": root,
                "ERRAND_PUSH": "log",
            ]
            #expect(try await Program.run(["storage", "init"], settings: settings).code == 0)
            // The database is a copy of one that may be hours old.
            try await database.execute("select errand_internal.make_partitions()")
            try await database.execute("select errand_internal.prune(), errand_internal.set_due('promote', '1 s')")
            try await database.execute(
                """
                insert into errand.worker (name, version, queues, kinds, lease)
                values ('host:1', '0.1', '{default}', '{noop}', interval '1 hour')
                """
            )
            try await database.execute("select errand_internal.tick_v1()")
            // Nothing ticks from here on, and the next tick may be due now.
            try await database.execute("update errand.schedule set next_tick = next_tick + interval '1 day'")
            try await withLogin(in: "errand_worker, errand_monitor", of: configuration, on: database) { login, _ in
                let (code, lines) = try await examine(settings.merging(login) { $1 })
                #expect(lines.filter { $0.result != "ok" } == [])
                #expect(code == 0)
                try await expectAll(lines, settings)
            }
        }
    }

    private func expectAll(_ lines: [Line], _ settings: [String: String]) async throws {
        #expect(
            lines.map(\.check) == [
                "database", "tls", "writes", "settings", "schema", "home", "roles", "rights", "clock",
                "wake-ups", "workers", "scheduler", "maintenance", "cell", "moves", "stuck jobs", "failures",
                "enqueues", "circuits", "endpoints", "guards", "partitions", "vacuum horizon", "locks", "notifications",
                "overdue", "kinds", "paused", "storage", "pushes", "image program", "image formats",
            ] + (Self.needsFonts ? ["fonts"] : []) + ["address"])
        let formats = "reads jpeg, png, webp, gif, heic, avif; writes jpeg, webp, avif"
        #expect(lines.contains { $0.detail == formats }, "\(lines)")
        let people = try await Program.run(["doctor"], settings: settings)
        #expect(people.output.hasPrefix("ok    database        PostgreSQL "))
        #expect(people.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test("of several databases each is checked, and one that is away hides nothing of the others")
    func cells() async throws {
        try await withAppDatabase { _, configuration in
            let url = try #require(reaching(configuration, options: "-c role=errand_enqueuer")["DATABASE_URL"])
            let settings = ["DATABASE_URL": "postgresql://127.0.0.1:1/away \(url)"]
            let (code, lines) = try await examine(settings, as: "api")
            #expect(code == 69)
            let checks = ["database", "tls", "writes", "settings", "schema", "roles", "rights"]
            #expect(lines.map(\.check) == ["database"] + checks)
            #expect(lines.map { $0.cell == "127.0.0.1:1/away" } == [true] + Array(repeating: false, count: 7))
            #expect(lines.map(\.result) == ["failed"] + Array(repeating: "ok", count: 7), "\(lines)")
            let people = try await Program.run(["doctor", "--as", "api"], settings: settings)
            #expect(people.output.hasPrefix("127.0.0.1:1/away\nFAIL  database  "), "\(people.output)")
        }
    }

    @Test("a minor problem is a warning: it exits with 0, and with 1 if strict")
    func warnings() async throws {
        try await withAppDatabase { database, configuration in
            // Without the pooler, which would cause a warning.
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let settings = [
                "DATABASE_URL": try TestServer.url(of: configuration, directly: true), "STORAGE_URL": root,
            ]
            #expect(try await Program.run(["storage", "init"], settings: settings).code == 0)
            // The database is a copy of one that may be hours old.
            try await database.execute("select errand_internal.make_partitions()")
            try await database.execute("select errand_internal.prune(), errand_internal.set_due('promote', '1 s')")
            try await database.execute("delete from errand.schedule")
            try await database.execute("select errand.enqueue('noop', queue => 'images')")
            try await database.execute("update errand.job set run_at = now() - interval '1 hour'")
            try await database.execute("select errand.pause_queue('mail', 'moves', force => true)")
            let (code, lines) = try await examine(settings)
            #expect(code == 0)
            let warnings = lines.filter { $0.result == "warning" }
            try #require(
                warnings.map(\.check) == [
                    "rights", "workers", "scheduler", "overdue", "paused", "pushes", "pushes",
                ])
            #expect(warnings[0].detail.hasSuffix(" may do everything here, as a superuser or the owner of the tables"))
            #expect(warnings[0].fix?.hasSuffix("create role … login in role errand_worker") == true)
            #expect(warnings[1].fix == "start `errand worker`")
            #expect(warnings[2].fix == "start `errand scheduler`, or call errand.tick_schedules()")
            #expect(warnings[3].detail.hasPrefix("queue images: its oldest job has been due for 360"))
            #expect(warnings[4].detail.hasPrefix("queue mail, since 2"))
            #expect(warnings[4].detail.hasSuffix(": moves"))
            #expect(warnings[4].fix == "errand queue resume mail")
            #expect(warnings[5].detail == "no key is set: no push is sent to Apple, and jobs with such pushes wait")
            #expect(warnings[5].fix?.hasPrefix("set APNS_KEY, ") == true)
            #expect(warnings[6].detail.hasPrefix("no service account is set: no push is sent to Google"))
            #expect(warnings[6].fix?.hasPrefix("set FCM_SERVICE_ACCOUNT; ") == true)
            let strict = try await Program.run(["doctor", "--strict", "--as", "scheduler"], settings: settings)
            #expect(strict.code == 1)
            #expect(strict.output.contains("\nwarn  paused "))
        }
    }

    @Test("69 if the database is down, and the other checks still run")
    func unreachable() async throws {
        let (code, lines) = try await examine(["DATABASE_URL": "postgresql://user:hunter2@/x?host=/nowhere"])
        #expect(code == 69)
        let first = try #require(lines.first)
        #expect(first.check == "database" && first.result == "failed")
        #expect(first.fix?.hasPrefix("start PostgreSQL") == true)
        #expect(lines.dropFirst().map(\.check).first == "address")
        #expect(!lines.contains { $0.detail.contains("hunter2") })
    }

    @Test("78 if a setting, the schema or a right is missing, with its fix")
    func misconfigured() async throws {
        let unset = try await examine([:], as: "scheduler")
        #expect(unset.code == 78)
        #expect(unset.lines.first?.fix == "set DATABASE_URL, such as postgresql://user@host:5432/database")
        try await withAppDatabase { database, configuration in
            let settings = try reaching(configuration)
            let folder = try await examine(settings.merging(["STORAGE_URL": "/dev/null/x"]) { _, given in given })
            #expect(folder.code == 78)
            #expect(folder.lines.filter { $0.result == "failed" }.map(\.check) == ["storage"])
            try await database.execute("drop schema errand cascade")
            let people = try await Program.run(["doctor"], settings: settings)
            #expect(people.code == 78)
            #expect(people.output.contains("\nFAIL  schema    the database's schema is missing or older"))
            #expect(people.output.contains("\n                fix: run `errand migrate`\n"))
        }
    }

    @Test("the role to check decides the needed rights and the other checks")
    func roles() async throws {
        let needs = [
            "run": "errand_worker", "worker": "errand_worker", "scheduler": "errand_worker", "web": "errand_monitor",
            "api": "errand_enqueuer", "ops": "errand_ops", "monitor": "errand_monitor",
        ]
        try await withAppDatabase { _, configuration in
            for (role, needed) in needs.sorted(by: { $0.key < $1.key }) {
                let settings = try reaching(configuration, options: "-c role=\(needed)")
                let (code, lines) = try await examine(settings, as: role)
                #expect(code == 0, "\(role): \(lines.filter { $0.result == "failed" })")
                #expect(lines.contains { $0.check == "rights" && $0.result == "ok" })
                let runsJobs = ["run", "worker"].contains(role)
                #expect(lines.contains { $0.check == "image formats" } == runsJobs)
                #expect(lines.contains { $0.check == "pushes" } == runsJobs)
                let serves = ["run", "worker", "scheduler", "web"].contains(role)
                #expect(lines.contains { $0.check == "address" } == serves)
                let other = needed == "errand_enqueuer" ? "errand_monitor" : "errand_enqueuer"
                let lacking = try await examine(reaching(configuration, options: "-c role=\(other)"), as: role)
                #expect(lacking.code == 78)
                let right = lacking.lines.first { $0.check == "rights" && $0.result == "failed" }
                #expect(right?.fix?.contains("grant \(needed) to") == true, "\(role)")
            }
        }
        #expect(try await Program.run(["doctor", "--as", "nobody"]).code == 64)
    }

    @Test("read-only sessions, a database copy and a missing function are each reported with the fix")
    func unusable() async throws {
        try await withAppDatabase { database, configuration in
            func failed(_ options: String = "-c application_name=errand") async throws -> [Line] {
                let (code, lines) = try await examine(reaching(configuration, options: options), as: "scheduler")
                #expect(code == 78)
                return lines.filter { $0.result == "failed" }
            }
            let readOnly = try await failed("-c default_transaction_read_only=on")
            #expect(readOnly.map(\.check) == ["writes"])
            #expect(readOnly.first?.detail.contains("read-only") == true)
            try await database.execute("update errand.home set database_name = 'elsewhere'")
            let copy = try await failed()
            #expect(copy.map(\.check) == ["home"])
            #expect(copy.first?.detail.contains("this database is a copy of elsewhere (oid ") == true)
            #expect(copy.first?.fix?.hasSuffix("select errand.adopt('…')") == true)
            try await database.execute("select errand.adopt('a test')")
            try await database.execute(
                """
                drop function errand_internal.claim_v1(
                    text, text[], bigint, int, bigint[], smallint[], boolean, int, boolean, int, boolean, text[])
                """)
            let gone = try await failed()
            #expect(gone.map(\.check) == ["schema"])
            #expect(gone.first?.detail.contains("lacks functions/worker/claim_v1 of this program") == true)
            #expect(gone.first?.fix == "run `errand migrate`")
            #expect(try await Program.run(["migrate"], settings: reaching(configuration)).code == 0)
            #expect(try await examine(reaching(configuration), as: "scheduler").code == 0)
        }
    }

    @Test("settings of APNs and FCM that are not whole, and an address that is taken, fail before they stop a start")
    func settings() async throws {
        try await withAppDatabase { _, configuration in
            let settings = try reaching(configuration)
            let half = try await examine(settings.merging(["APNS_KEY_ID": "ABCDE12345"]) { $1 }, as: "worker")
            #expect(half.code == 78)
            let pushes = half.lines.filter { $0.result == "failed" }
            #expect(pushes.map(\.check) == ["pushes"])
            #expect(pushes.first?.detail.hasPrefix("APNS_KEY is not set: expected a .p8 file's path or text") == true)
            let account = settings.merging(["FCM_SERVICE_ACCOUNT": #"{"private_key": "hunter2"}"#]) { $1 }
            let google = try await examine(account, as: "worker").lines.filter { $0.result == "failed" }
            #expect(google.map(\.check) == ["pushes"])
            #expect(
                google.first?.detail.hasPrefix("FCM_SERVICE_ACCOUNT: expected the JSON of a service account") == true)
            #expect(google.first?.detail.contains("hunter2") == false)
            let (socket, address) = try takePort()
            defer { close(socket) }
            let taken = settings.merging(["ERRAND_WEB_ADDRESS": address]) { $1 }
            for (role, code, result) in [("web", 78, "failed"), ("worker", 0, "warning")] {
                let found = try await examine(taken, as: role)
                #expect(found.code == Int32(code))
                let line = found.lines.first { $0.check == "address" }
                #expect(line?.result == result)
                #expect(line?.detail == "\(address): Address already in use")
            }
        }
    }

    private static let needsFonts = HostNeed.all(of: Set(AppSchemas.names)).contains(.fonts)

    @Test(
        "without a font for emoji, cards would show boxes: a warning with the packages",
        .enabled(if: needsFonts, "no app draws texts"))
    func fonts() async throws {
        let none = FileManager.default.temporaryDirectory.appendingPathComponent("fonts-\(UUID().uuidString)").path
        try "<fontconfig/>".write(toFile: none, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: none) }
        try await withAppDatabase { _, configuration in
            let settings = try reaching(configuration).merging(["FONTCONFIG_FILE": none]) { $1 }
            let line = try await examine(settings, as: "worker").lines.first { $0.check == "fonts" }
            #expect(line?.result == "warning")
            #expect(line?.detail == "no font of this host has letters or emoji: cards show boxes instead")
            #expect(line?.fix?.contains("fonts-noto-color-emoji") == true)
        }
    }

    @Test("a folder for photos that isn't there yet is not made")
    func changesNothing() async throws {
        try await withAppDatabase { _, configuration in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("photos-\(UUID().uuidString)")
            let path = folder.appendingPathComponent("deep/er").path
            let (code, lines) = try await examine(
                reaching(configuration).merging(["STORAGE_URL": path]) { $1 }, as: "worker")
            #expect(code == 0)
            #expect(
                lines.first { $0.check == "storage" }?.detail == "\(path) doesn't exist: jobs that need it wait")
            #expect(!FileManager.default.fileExists(atPath: folder.path))
        }
    }

    @Test(
        "beyond this host, anything less than verify-full is a warning",
        arguments: [
            (Transport(host: "/run/postgresql", address: "", sslMode: "prefer"), Finding.Result.ok),
            (Transport(host: "localhost", address: "127.0.0.1", sslMode: "prefer"), .ok),
            (Transport(host: "localhost", address: "::1", sslMode: "disable"), .ok),
            (Transport(host: "db.internal", address: "10.0.0.7", sslMode: "verify-full"), .ok),
            (Transport(host: "db.internal", address: "10.0.0.7", sslMode: "require"), .warning),
            (Transport(host: "db.internal", address: "10.0.0.7", sslMode: "prefer"), .warning),
        ])
    func tls(transport: Transport, result: Finding.Result) {
        #expect(Diagnostics.finding(of: transport).result == result)
    }

    @Test("each sample is a photo of its format", arguments: ImageFormat.allCases)
    func samples(format: ImageFormat) throws {
        #expect(try ImageFormat(of: SamplePhoto.bytes(format)) == format)
    }
}
