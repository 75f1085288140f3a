import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Testing

@Suite("Large archives of events", .serialized) struct EventArchiveScaleTests {
    @Test("E6: an archive of 2,000 photos and 1 GB is made with at most 150 MB of memory, in a bucket and in a folder")
    func memory() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("photos-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let server = try BucketServer.rclone()
        let prefix = "t-\(UUID().uuidString)"
        let keys = ["STORAGE_ACCESS_KEY": server.accessKey, "STORAGE_SECRET_KEY": server.secretKey]
        let credentials = S3Credentials(accessKey: server.accessKey, secretKey: server.secretKey)
        guard
            case .bucket(let location) = try StorageLocation(url: server.url(prefix: prefix), credentials: credentials)
        else { preconditionFailure("the URL names a bucket") }
        let bucket = try S3Store(location)
        try await make(
            "bucket", in: bucket, ["STORAGE_URL": server.url(prefix: prefix)].merging(keys) { one, _ in one })
        _ = try await bucket.sweep(below: "photos/", atMost: 1000)
        await bucket.stop()
        try await make("folder", in: try FolderStore(root: root), ["STORAGE_URL": "file://\(root)"])
    }

    private func make(_ what: String, in store: any ObjectStore, _ location: [String: String]) async throws {
        let (photos, size) = Hardness.isFull ? (2_000, 512 << 10) : (40, 512 << 10)
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            let settings = Hardness.settings.merging(["ERRAND_QUEUES": "uploads=4"]) { _, new in new }
                .merging(location) { _, new in new }
            try await Program.initialiseStore(database: url, settings: settings)
            let event = try await addPhotos(photos, database)
            let results = try await database.query("select result_key from media.photo").column(0, as: String.self)
            for (number, key) in results.enumerated() {
                let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
                try await store.put(bytes, at: ObjectKey(key), type: .jpeg)
            }
            let worker = try Program(["worker"], database: url, settings: settings)
            let status = try await database.query(Statement("select events.archive($1, 'anna')", [event]))
            #expect(try status.scalar(String.self) == "making")
            let isMade = try await database.becomes(
                "exists (select from events.archive where made_at is not null)",
                within: .seconds(Hardness.isFull ? 600 : 60))
            try #require(isMade, "\(worker.output)")
            let peak = try #require(worker.peakMemory)
            let (key, bytes, made, took) = try await database.query(
                """
                select key, bytes, photos, extract(epoch from finished_at - started_at)::float8
                from events.archive
                join errand.history on history.id = job_id
                """)[0].decode(String.self, Int.self, Int.self, Double.self)
            print("E6: \(made) photos, \(bytes >> 20) MB into a \(what) in \(took) s, \(peak >> 20) MB of memory")
            #expect(made == photos && bytes > photos * size)
            #expect(try await store.size(of: ObjectKey(key)) == bytes)
            #expect(peak <= 150_000_000)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    /// An event with delivered photos, without their objects.
    private func addPhotos(_ count: Int, _ database: Database) async throws -> UUID {
        let event = try await database.query(
            "select events.create('anna', 'Party', photos_each => 1000, photos_in_all => 20000)"
        ).scalar(UUID.self)
        try await database.execute(
            Statement(
                """
                with wanted as materialized (
                    select gen_random_uuid() as photo, 'events/' || $1::uuid || '/' || n || '.jpg' as key
                    from generate_series(1, $2::int4) as n
                ),
                submitted as (
                    insert into media.photo (id, state, owner, source_key, result_key)
                    select photo, 'compressed', 'anna', key, 'photos/' || photo || '.jpg' from wanted
                ),
                added as (
                    insert into events.photo (photo, event_id, user_id, source_key)
                    select photo, $1, 'anna', key from wanted
                )
                insert into media.upload (photo, size, key, type, owner, sha256, delivered_at)
                select photo, 2, 'photos/' || photo || '.jpg', 'image/jpeg', 'anna', sha256('\\x0405'), now() from wanted
                """, [event, count]))
        return event
    }
}
