import AppTestKit
import Errand
import ErrandImages
import ErrandStorage
import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@testable import Jobs

@Suite("Image compression") struct ImageCompressionTests {
    @Test("M1: a submitted photo has less than 500,000 bytes, and its row describes the compression")
    func compresses() async throws {
        try await withService { service in
            let photo = try await service.submit("uploads/dune.jpg", try Samples.large())
            #expect(try await service.database.reaches("state = 'delivered'", of: photo))
            let row = try await service.database.query(
                Statement(
                    "select result_key, bytes, width, height, quality, source_bytes from media.photo_status where id = $1",
                    [photo]))
            let (key, bytes, width, height, quality, before) = try row[0].decode(
                String.self, Int.self, Int.self, Int.self, Int.self, Int.self)
            let stored = try await service.store.get(ObjectKey(key))
            #expect(stored.count == bytes && bytes < 500_000 && bytes < before)
            #expect(max(width, height) <= 2560 && quality >= 50)
            #expect(stored.prefix(3) == [0xFF, 0xD8, 0xFF])
            #expect(
                try await service.database.query(
                    "select output ->> 'bytes' from errand.history where kind = 'image_compression'"
                ).scalar(String.self)
                    == "\(bytes)")
        }
    }

    @Test("a result has the format, the bytes and the longest side that its submission asks for")
    func asked() async throws {
        try await withService { service in
            let database = service.database
            try await service.store.put(try service.photograph(), at: ObjectKey("uploads/elephants.jpg"))
            try await service.store.put(Samples.small, at: ObjectKey("uploads/small.png"))
            let webp = try await database.submit(
                "'uploads/elephants.jpg', max_bytes => 200000, max_edge => 640, format => 'webp'")
            let avif = try await database.submit("'uploads/small.png', format => 'avif'")
            for (photo, format, ending) in [(webp, ImageFormat.webp, "webp"), (avif, .avif, "avif")] {
                #expect(try await database.reaches("state = 'delivered'", of: photo))
                let key = "photos/\(photo.uuidString.lowercased()).\(ending)"
                let row = try await database.lines(
                    """
                    select result_key, type, format from media.photo_status
                    join media.upload on upload.photo = photo_status.id where photo = '\(photo)'
                    """)
                #expect(row == ["\(key)|image/\(ending)|\(ending)"])
                #expect(try ImageFormat(of: try await service.store.get(ObjectKey(key))) == format)
            }
            let size = try await database.lines(
                "select bytes < 200000, greatest(width, height) from media.photo_status where id = '\(webp)'")
            #expect(size == ["true|640"])
        }
    }

    @Test("a file that is no photo fails once, has the reason in both rows, and keeps the original")
    func notAnImage() async throws {
        try await withService { service in
            let photo = try await service.submit("uploads/letter.jpg", Array("Dear Sir or Madam".utf8))
            #expect(try await service.database.reaches("state = 'failed'", of: photo))
            let row = try await service.database.query(
                "select photo.error, failed.error, failed.attempt from media.photo, errand.failed")
            let (error, jobError, attempt) = try row[0].decode(String.self, String.self, Int.self)
            #expect(error.hasPrefix("not_an_image") && jobError == error && attempt == 1)
            #expect(try await service.store.size(of: ObjectKey("uploads/letter.jpg")) == 17)
        }
    }

    @Test("a photo without its original fails with that reason, and succeeds on a retry with it")
    func missing() async throws {
        try await withService { service in
            let photo = try await service.database.query("select media.submit('uploads/late.jpg')").scalar(UUID.self)
            #expect(
                try await service.database.reaches("error like 'storage: not found: uploads/late.jpg: %'", of: photo))
            try await service.store.put(Samples.small, at: ObjectKey("uploads/late.jpg"))
            try await service.database.execute("select errand.retry(array(select id from errand.failed))")
            #expect(try await service.database.reaches("state = 'delivered' and error is null", of: photo))
        }
    }

    @Test("an original of 6 GB fails with its size, unread")
    func tooLarge() async throws {
        try await withService { service in
            let key = try ObjectKey("uploads/film.jpg")
            try await service.store.put([1], at: key)
            // Without a block on disk.
            #expect(truncate(service.root + "/uploads/film.jpg", 6 << 30) == 0)
            let photo = try await service.database.query("select media.submit('uploads/film.jpg')").scalar(UUID.self)
            #expect(try await service.database.reaches("state = 'failed'", of: photo))
            #expect(
                try await service.database.lines("select error from media.photo") == [
                    "storage: too large: uploads/film.jpg: expected at most 209715200 bytes, got 6442450944"
                ])
        }
    }

    @Test("a result is committed with its job: a rolled back upload rolls back the result")
    func together() async throws {
        try await withService(uploads: false) { service in
            let photo = try await service.submit("uploads/small.png", Samples.small)
            #expect(
                try await service.database.becomes(
                    "exists (select from errand.job where kind = 'upload_retry' and state = 'available')"))
            let row = try await service.database.query(
                """
                select photo.state, upload.size = photo.bytes, upload.sha256 = sha256(upload.bytes), upload.key
                from media.photo join media.upload on upload.photo = photo.id
                where upload.job_id = (select id from errand.job)
                """)
            let (state, isWhole, isRight, key) = try row[0].decode(String.self, Bool.self, Bool.self, String.self)
            #expect(state == "compressed" && isWhole && isRight && key == "photos/\(photo.uuidString.lowercased()).jpg")
            #expect(try await service.store.size(of: ObjectKey(key)) == nil, "nothing is stored yet")
        }
    }

    @Test("the same job twice: a photo that has its result is not compressed again")
    func twice() async throws {
        try await withService { service in
            let photo = try await service.submit("uploads/small.png", Samples.small)
            #expect(try await service.database.reaches("state = 'delivered'", of: photo))
            let result = try ObjectKey("photos/\(photo.uuidString.lowercased()).jpg")
            try await service.store.put([1], at: result)
            let first = try await service.database.query("select compressed_at::text from media.photo").scalar(
                String.self)
            try await service.database.execute(
                Statement(
                    "select errand.enqueue('image_compression', jsonb_build_object('photo', $1::uuid), queue => 'images')",
                    [photo]))
            #expect(try await service.database.reaches("(select count(*) from errand.history) = 3", of: photo))
            let second = try await service.database.query("select compressed_at::text from media.photo").scalar(
                String.self)
            #expect(first == second)
            #expect(try await service.store.get(result) == [1])
        }
    }

    @Test("a photo whose last attempt fails has that in its row")
    func spent() async throws {
        try await withService(images: "/nowhere/errand-image") { service in
            try await service.store.put(Samples.small, at: ObjectKey("uploads/small.png"))
            let photo = try await service.database.transaction { transaction in
                let photo = try await transaction.query("select media.submit('uploads/small.png')").scalar(UUID.self)
                try await transaction.execute("update errand.job set max_attempts = 1")
                return photo
            }
            #expect(try await service.database.reaches("state = 'failed' and error like 'unavailable%'", of: photo))
            #expect(
                try await service.database.query("select count(*) from errand.failed where error like 'unavailable%'")
                    .scalar(Int.self) == 1)
        }
    }

    @Test("a submission and its job exist together or not at all, and a bad key is refused")
    func submission() async throws {
        try await withAppDatabase { database, _ in
            struct Undo: Error {}
            await #expect(throws: Undo.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("select media.submit('uploads/a.jpg')")
                    throw Undo()
                }
            }
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select media.submit('../secret')")
            }
            #expect(error?.sqlState == "ER422")
            let left = try await database.query(
                "select (select count(*) from media.photo) + (select count(*) from errand.job)"
            ).scalar(Int.self)
            #expect(left == 0)
        }
    }
}
