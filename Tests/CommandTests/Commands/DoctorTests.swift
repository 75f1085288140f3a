import ErrandTestKit
import Foundation
import Images
import Postgres
import Testing

@testable import Command

@Suite("errand doctor") struct DoctorTests {
    struct Line: Decodable, Equatable { let check: String, result: String, detail: String, mend: String? }

    private func examine(_ settings: [String: String]) async throws -> (code: Int32, lines: [Line]) {
        let program = try await Program.run(["doctor", "--json"], settings: settings)
        return (program.code, try JSONDecoder().decode([Line].self, from: Data(program.output.utf8)))
    }

    @Test("where all is well each check says ok, and it ends with 0")
    func healthy() async throws {
        try await withTestDatabase { database, configuration in
            // Past a pooler, which would be a warning.
            let settings = ["DATABASE_URL": try TestServer.url(of: configuration, directly: true)]
            // The database is copied from one that may have been made hours ago.
            try await database.execute("select errand.make_partitions_v1()")
            try await database.execute(
                """
                insert into errand.worker (name, version, queues, kinds, lease)
                values ('host:1', '0.1', '{default}', '{noop}', interval '1 hour')
                """
            )
            let (code, lines) = try await examine(settings)
            #expect(lines.filter { $0.result != "ok" } == [])
            #expect(code == 0)
            #expect(
                lines.map(\.check) == [
                    "database", "schema", "roles", "rights", "clock", "wake-ups", "workers", "housekeeping",
                    "stuck jobs", "failures", "dependencies", "history partitions", "vacuum horizon", "notifications",
                    "overdue", "paused", "time zones", "storage", "image program", "image formats",
                ])
            #expect(lines.last?.detail == "reads jpeg, png, webp, gif, heic, avif; writes jpeg, webp, avif")
            let people = try await Program.run(["doctor"], settings: settings)
            #expect(people.output.hasPrefix("ok    database            PostgreSQL "))
            #expect(people.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
        }
    }

    @Test("what somebody should look at is a warning: it ends with 0, and with 1 if strict")
    func warnings() async throws {
        try await withTestDatabase { database, configuration in
            // Past a pooler, which would be a warning.
            let settings = ["DATABASE_URL": try TestServer.url(of: configuration, directly: true)]
            // The database is copied from one that may have been made hours ago.
            try await database.execute("select errand.make_partitions_v1()")
            try await database.execute("select errand.enqueue('noop', queue => 'images')")
            try await database.execute("update errand.job set run_at = now() - interval '1 hour'")
            try await database.execute("select errand.pause('mail', 'moves')")
            let (code, lines) = try await examine(settings)
            #expect(code == 0)
            let warnings = lines.filter { $0.result == "warning" }
            #expect(warnings.map(\.check) == ["workers", "overdue", "paused"])
            #expect(warnings[0].mend == "start `errand worker`")
            #expect(warnings[1].detail.hasPrefix("queue images: its oldest job has been due for 360"))
            #expect(warnings[2].detail.hasPrefix("queue mail, since 2"))
            #expect(warnings[2].detail.hasSuffix(": moves"))
            #expect(warnings[2].mend == "errand queue resume mail")
            let strict = try await Program.run(["doctor", "--strict"], settings: settings)
            #expect(strict.code == 1)
            #expect(strict.output.contains("\nwarn  paused "))
        }
    }

    @Test("69 where the database is down, and the rest is checked all the same")
    func unreachable() async throws {
        let (code, lines) = try await examine(["DATABASE_URL": "postgresql://user:hunter2@/x?host=/nowhere"])
        #expect(code == 69)
        #expect(
            lines[0].check == "database" && lines[0].result == "failed"
                && lines[0].mend?.hasPrefix("start PostgreSQL") == true)
        #expect(lines.dropFirst().map(\.check).first == "time zones")
        #expect(!lines.contains { $0.detail.contains("hunter2") })
    }

    @Test("78 where a setting, the schema or a right is missing, with what mends it")
    func misconfigured() async throws {
        let unset = try await examine([:])
        #expect(unset.code == 78)
        #expect(unset.lines[0].mend == "set DATABASE_URL, such as postgresql://user@host:5432/database")
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            let folder = try await examine(settings.merging(["ERRAND_STORAGE": "/dev/null/x"]) { _, given in given })
            #expect(folder.code == 78)
            #expect(folder.lines.filter { $0.result == "failed" }.map(\.check) == ["storage"])
            try await database.execute("drop schema errand cascade")
            let people = try await Program.run(["doctor"], settings: settings)
            #expect(people.code == 78)
            #expect(people.output.contains("\nFAIL  schema         the database's schema is missing or older"))
            #expect(people.output.contains("\n                     mend: run `errand migrate`\n"))
        }
    }

    @Test("each sample is a photo of its format", arguments: ImageFormat.allCases)
    func samples(format: ImageFormat) throws {
        #expect(try ImageFormat(of: SamplePhoto.bytes(format)) == format)
    }
}
