import AppTestKit
import ErrandTestKit
import Foundation
import NIOHTTP1
import Postgres
import StorageKit
import Testing

@testable import ErrandStorage

@Suite("Large archives of events", .serialized) struct EventArchiveScaleTests {
    /// The size of a photo, in bytes.
    private static let size = 512 << 10

    @Test("E6: an archive of 2,000 photos and 1 GB is made with at most 150 MB of memory, in a bucket and in a folder")
    func memory() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("photos-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let (bucket, location) = try bucket()
        try await measure("bucket", bucket, location)
        await bucket.stop()
        try await measure("folder", try FolderStore(root: root), ["STORAGE_URL": "file://\(root)"])
    }

    private func measure(_ what: String, _ store: any ObjectStore, _ location: [String: String]) async throws {
        let photos = Hardness.isFull ? 2_000 : 40
        try await withEvent(of: photos, in: store, location) { database, worker in
            let worker = try worker()
            try await expectArchive(of: photos, in: store, database, worker)
            let peak = try #require(worker.peakMemory)
            let took = try await database.query(
                """
                select extract(epoch from finished_at - started_at)::float8
                from errand.history
                where kind = 'event_archive'
                """
            ).scalar(Double.self)
            print("E6: \(photos) photos of 512 KB into a \(what) in \(took) s, \(peak >> 20) MB of memory")
            #expect(peak <= 150_000_000)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    @Test("E6: kill -9 while an archive is written: another worker makes it, and no part is left")
    func killed() async throws {
        let (bucket, location) = try bucket()
        // More than one part, so that one is on its way when the worker is killed.
        let photos = Hardness.isFull ? 100 : 40
        try await withEvent(of: photos, in: bucket, location) { database, worker in
            for _ in 1...(Hardness.isFull ? 2 : 1) {
                let victim = try worker()
                let start = ContinuousClock.now
                let known = try await uploads(in: bucket)
                // The first part is on its way, or stored.
                while try await Set(uploads(in: bucket)).isSubset(of: known) {
                    try #require(ContinuousClock.now - start < .seconds(60), "\(victim.output)")
                    try await Task.sleep(for: .milliseconds(10))
                }
                victim.send(SIGKILL)
                #expect(try await victim.exit() == -SIGKILL)
                try await database.rescueJobs(of: victim)
                #expect(try await bucket.keys(beginning: "events/", after: nil, atMost: 9) == [])
            }
            let successor = try worker()
            try await expectArchive(of: photos, in: bucket, database, successor)
            #expect(try await uploads(in: bucket) == [])
            successor.send(SIGTERM)
            #expect(try await successor.exit() == 0)
        }
        await bucket.stop()
    }
}

// MARK: - Helpers
extension EventArchiveScaleTests {
    /// A prefix of rclone's bucket, and the settings of it.
    private func bucket() throws -> (S3Store, [String: String]) {
        let server = try BucketServer.rclone()
        let url = server.url(prefix: "t-\(UUID().uuidString)")
        let credentials = S3Credentials(accessKey: server.accessKey, secretKey: server.secretKey)
        guard case .bucket(let location) = try StorageLocation(url: url, credentials: credentials) else {
            preconditionFailure("the URL names a bucket")
        }
        let settings = [
            "STORAGE_URL": url, "STORAGE_ACCESS_KEY": server.accessKey, "STORAGE_SECRET_KEY": server.secretKey,
        ]
        return (try S3Store(location), settings)
    }

    /// Runs `body` with an event of delivered photos whose archive was asked for, and with a way to start workers.
    private func withEvent(
        of photos: Int, in store: any ObjectStore, _ location: [String: String],
        _ body: (Database, () throws -> Program) async throws -> Void
    ) async throws {
        try await withAppDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            let settings = Hardness.settings.merging(["ERRAND_QUEUES": "uploads=4"]) { _, new in new }
                .merging(location) { _, new in new }
            try await Program.initialiseStore(database: url, settings: settings)
            let event = try await addPhotos(photos, database)
            let results = try await database.query("select result_key from media.photo").column(0, as: String.self)
            for (number, key) in results.enumerated() {
                let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: Self.size)
                try await store.put(bytes, at: ObjectKey(key), type: .jpeg)
            }
            let status = try await database.query(Statement("select events.archive($1, 'anna')", [event]))
            #expect(try status.scalar(String.self) == "making")
            try await body(database) { try Program(["worker"], database: url, settings: settings) }
        }
    }

    private func expectArchive(
        of photos: Int, in store: any ObjectStore, _ database: Database, _ worker: Program
    ) async throws {
        let isMade = try await database.becomes(
            "exists (select from events.archive where made_at is not null)",
            within: .seconds(Hardness.isFull ? 600 : 60))
        try #require(isMade, "\(worker.output)")
        let row = try await database.query("select key, bytes, photos from events.archive")
        let (key, bytes, made) = try row[0].decode(String.self, Int.self, Int.self)
        #expect(made == photos && bytes > photos * Self.size)
        #expect(try await store.size(of: ObjectKey(key)) == bytes)
    }

    /// The ids of the multipart uploads that were begun and not completed.
    private func uploads(in bucket: S3Store) async throws -> [String] {
        let prefix = bucket.client.configuration.prefix
        let request = S3Client.Request(
            method: .GET, query: [("uploads", ""), ("prefix", prefix + "/")], what: "uploads")
        // 404 is rclone's reply as long as it has had none.
        return try await bucket.client.send(request, accepting: [200, 404]) { response in
            let page = XMLElement(document: try await S3Client.bytes(of: response, atMost: 1 << 20))
            return page?.all("Upload").compactMap { $0["UploadId"]?.text } ?? []
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
