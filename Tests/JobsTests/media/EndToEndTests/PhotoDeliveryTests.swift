import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Testing

@Suite("A photo from its submission to the object store", .serialized) struct PhotoDeliveryTests {
    @Test(
        "M1: 12 megapixels: compressed, handed over and begun to be stored within 3 s, in a bucket, and in a folder with other jobs waiting"
    )
    func delivers() async throws {
        // A phone's size, which the promise is about; a part of it where no time is measured.
        let photo =
            try Hardness.isFull
            ? photograph(width: 4000, height: 3000) : photograph(width: 800, height: 600, isSmall: true)
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration)
            let settings = ["ERRAND_QUEUES": "images=2,uploads=16"]
            try await fixture.store.put(photo, at: ObjectKey("uploads/12.jpg"))
            try await deliver(database, try fixture.worker(settings), "bucket") { try await fixture.store.get($0) }
        }
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("photos-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        try await withAppDatabase { database, configuration in
            let store = try FolderStore(root: root)
            try await store.put(photo, at: ObjectKey("uploads/12.jpg"))
            let url = try TestServer.url(of: configuration)
            let settings = ["ERRAND_QUEUES": "images=2,uploads=16,default=2", "STORAGE_URL": "file://\(root)"]
            try await Program.initialiseStore(database: url, settings: settings)
            // Two run at a time, for longer than the photos take.
            let others = Hardness.isFull ? 10_000 : 1_000
            try await database.enqueueSleepers(others, milliseconds: 50)
            let worker = try Program(["worker"], database: url, settings: settings)
            try await deliver(database, worker, "folder, beside \(others) others") {
                try await store.get($0)
            }
            #expect(try await database.count("from errand.job where kind = 'noop'") > 0, "others waited all the time")
        }
    }

    private func deliver(
        _ database: Database, _ worker: Program, _ what: String, get: (ObjectKey) async throws -> [UInt8]
    ) async throws {
        #expect(try await database.becomes("exists (select from errand.worker)", within: .seconds(60)))
        // One after the other, and the best counts: the promise is for a machine without other load.
        for number in 1...(Hardness.isFull ? 3 : 1) {
            try await database.execute("select media.submit('uploads/12.jpg', keep_original => true)")
            #expect(
                try await database.becomes(
                    "(select count(*) from media.photo_status where state = 'delivered') = \(number)",
                    within: .seconds(60)))
        }
        let row = try await database.query(
            """
            select photo.result_key, photo.bytes,
                extract(epoch from stored.started_at - compressed.created_at)::float8 as begun,
                extract(epoch from stored.started_at - compressed.finished_at)::float8
            from media.photo
            join media.upload on upload.photo = photo.id
            join errand.history as stored on stored.id = upload.job_id
            join errand.history as compressed on compressed.payload ->> 'photo' = photo.id::text
            order by begun
            """)
        let (key, bytes, begun, handed) = try #require(row.first).decode(
            String.self, Int.self, Double.self, Double.self)
        print(
            "M1: 12 megapixels into a \(what): its upload had begun after \(begun) s, \(handed) s after its compression"
        )
        #expect(begun > 0)
        if Hardness.isFull { #expect(handed < 2 && begun < 3) }
        let stored = try await get(ObjectKey(key))
        #expect(stored.count == bytes && bytes < 500_000 && stored.prefix(2) == [0xFF, 0xD8])
        worker.send(SIGTERM)
        #expect(try await worker.exit() == 0)
    }
}
