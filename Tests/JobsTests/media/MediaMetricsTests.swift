import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Metrics of photos") struct MediaMetricsTests {
    @Test("what waits for the store is counted with its variants, and is gone once the store has it")
    func staged() async throws {
        try await withService(uploads: false) { service in
            let database = service.database
            let none = ["staged_bytes": 0.0, "staged_objects": 0, "staged_oldest_seconds": 0]
            #expect(try await database.samples() == none)
            let uploads = try await service.stage(["a/1", "a/2"], [UInt8](repeating: 7, count: 1_000))
            for statement: Statement in [
                "insert into media.photo (source_key) values ('uploads/1.png')",
                """
                insert into media.variant (photo, size, width, height, name, key, format, sha256, bytes)
                select id, 300, 1, 1, 'thumb', 'a/3', 'webp', sha256(''), '' from media.photo
                """,
                "update media.upload set staged_at = now() - interval '1 hour' where key = 'a/1'",
            ] {
                try await database.execute(statement)
            }
            var samples = try await database.samples()
            let age = samples.removeValue(forKey: "staged_oldest_seconds") ?? 0
            #expect((3_600..<3_660).contains(age))
            #expect(samples == ["staged_bytes": 2_300, "staged_objects": 3])
            try await database.execute(
                Statement("select media.delivered_v1(id, key) from media.upload where id = $1", [uploads[0]]))
            try await database.execute("update media.variant set bytes = null")
            samples = try await database.samples()
            #expect((samples["staged_oldest_seconds"] ?? 99) < 60)
            #expect(samples["staged_bytes"] == 1_000 && samples["staged_objects"] == 1)
        }
    }

    @Test("removals are counted until the store has confirmed them, the oldest with its age")
    func removals() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute(
                """
                insert into media.removal (asked_at, in_flight, key)
                select now() - n * interval '1 hour', false, 'k' || n from generate_series(3, 1, -1) as n
                """)
            var samples = try await database.samples("removal")
            #expect((10_800..<10_860).contains(samples["removal_oldest_seconds"] ?? 0))
            #expect(samples["removals"] == 3)
            try await database.execute("select media.removed_v1(array_agg(id), array_agg(0)) from media.removal")
            samples = try await database.samples("removal")
            #expect(samples == ["removals": 0, "removal_oldest_seconds": 0])
        }
    }

    @Test("delivered uploads are not read: those that wait have an index of their own")
    func cheap() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute(
                """
                insert into media.upload (delivered_at, size, key, type, sha256)
                select now(), 1, n::text, 'image/jpeg', sha256('') from generate_series(1, 20000) as n
                """)
            try await database.execute("analyze media.upload")
            let plan = try await database.query(
                "explain select count(*), sum(size), min(staged_at) from media.upload where bytes is not null"
            ).map { try $0.decode(String.self) }.joined(separator: "\n")
            #expect(plan.contains("Index Only Scan using upload_staged_index"), "\(plan)")
        }
    }
}

extension Database {
    /// The samples of media whose names begin so, by the rest of their name.
    fileprivate func samples(_ prefix: String = "staged") async throws -> [String: Double] {
        let rows = try await query(
            Statement(
                """
                select substr(name, length('errand_media_') + 1), value
                from errand.metrics()
                where starts_with(name, 'errand_media_' || $1)
                """, [prefix]))
        return try rows.reduce(into: [:]) { samples, row in
            let (name, value) = try row.decode(String.self, Double.self)
            samples[name] = value
        }
    }
}
