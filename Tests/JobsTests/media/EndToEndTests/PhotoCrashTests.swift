import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Crashes while photos are compressed", .serialized) struct PhotoCrashTests {
    @Test("kill -9 as a result is stored: every photo ends with one object, whole, and a row that fits it")
    func killedAtTheStore() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("photos-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        try await withAppDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            let settings = Hardness.settings.merging(
                ["ERRAND_QUEUES": "images=2,uploads=4", "STORAGE_URL": root.path]) { one, _ in one }
            let photos = 6
            try await Program.initialiseStore(database: url, settings: settings)
            try await submit(photos, below: root, to: database)

            // Two crashes, because a job that was running in three is failed.
            for _ in 0..<2 {
                let before = results(below: root).count
                let victim = try Program(["worker"], database: url, settings: settings)
                try await waitForResults(moreThan: before, below: root)
                victim.send(SIGKILL)
                #expect(try await victim.exit() == -SIGKILL)
                try await database.rescueJobs(of: victim)
                #expect(try await database.count("from media.photo_status where state <> 'delivered'") > 0)
            }
            let successor = try Program(["worker"], database: url, settings: settings)
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job)", within: Hardness.rescue + .seconds(120)))
            successor.send(SIGTERM)
            #expect(try await successor.exit() == 0)

            let rows = try await database.query(
                "select result_key, bytes from media.photo_status where state = 'delivered' order by result_key")
            #expect(rows.count == photos)
            #expect(results(below: root).count == photos)
            for row in rows {
                let (key, bytes) = try row.decode(String.self, Int.self)
                let object = try Data(contentsOf: root.appendingPathComponent(key))
                #expect(object.count == bytes && bytes < 500_000)
                #expect(object.prefix(2) == Data([0xFF, 0xD8]) && object.suffix(2) == Data([0xFF, 0xD9]))
            }
        }
    }

    /// Photographs, the same one each.
    private func submit(_ count: Int, below root: URL, to database: Database) async throws {
        let photo = Data(
            try Hardness.isFull
                ? photograph(width: 5640, height: 3172) : photograph(width: 800, height: 600, isSmall: true))
        let uploads = root.appendingPathComponent("uploads")
        try FileManager.default.createDirectory(at: uploads, withIntermediateDirectories: true)
        for number in 1...count {
            try photo.write(to: uploads.appendingPathComponent("\(number).jpg"))
            try await database.execute(Statement("select media.submit($1)", ["uploads/\(number).jpg"]))
        }
    }

    /// The objects, without files that a crash left incomplete.
    private func results(below root: URL) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent("photos").path)
        return (names ?? []).filter { !$0.hasPrefix(".") }
    }

    private func waitForResults(moreThan count: Int, below root: URL) async throws {
        let start = ContinuousClock.now
        while results(below: root).count <= count {
            try #require(ContinuousClock.now - start < .seconds(180), "no photo was compressed")
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
