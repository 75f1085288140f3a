import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Originals") struct OriginalTests {
    @Test("an original is removed once its result is stored, and stays if it is to be kept, or if its photo fails")
    func removed() async throws {
        try await withService { service in
            let (database, store) = (service.database, service.store)
            for name in ["1.png", "kept.png"] { try await store.put(Samples.small, at: ObjectKey("uploads/\(name)")) }
            try await store.put(Array("Dear Sir".utf8), at: ObjectKey("uploads/letter.png"))
            let photo = try await database.submit("'uploads/1.png'")
            let kept = try await database.submit("'uploads/kept.png', keep_original => true")
            let letter = try await database.submit("'uploads/letter.png'")
            try await service.stage(["uploads/late.png"], Samples.small)
            let late = try await database.submit("'uploads/late.png'")
            for photo in [photo, kept, late] {
                #expect(try await database.reaches("state = 'delivered'", of: photo))
            }
            #expect(try await database.reaches("state = 'failed'", of: letter))
            #expect(
                try await database.lines(
                    "select source_key from media.photo_status where original_removed_at is not null"
                )
                .sorted() == ["uploads/1.png", "uploads/late.png"])
            #expect(try await database.lines("select media.enqueue_removals_v1()") == ["true"])
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(
                try await store.keys(beginning: "uploads/", after: nil, atMost: 10).map(\.text)
                    == ["uploads/kept.png", "uploads/letter.png"])
            #expect(try await store.keys(beginning: "photos/", after: nil, atMost: 10).count == 3)
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute(Statement("select media.retry_photo($1)", [photo]))
            }
            #expect(error?.sqlState == "ER409" && error?.hint?.contains("Its original is gone since") == true)
        }
    }

    @Test("of photos with one original, the last one that is stored or removed takes it, and none that keeps it does")
    func shared() async throws {
        try await withAppDatabase { database, _ in
            let (one, two, failed) = (
                try await database.submit("'u/1.jpg'"), try await database.submit("'u/1.jpg'"),
                try await database.submit("'u/1.jpg'")
            )
            for photo in [one, two] { try await database.compress(photo) }
            try await database.deliver(one)
            try await database.execute(Statement("select media.not_compressed_v1($1, 'corrupt: cut')", [failed]))
            try await database.deliver(two)
            #expect(try await database.removals == [])
            // A failed photo may be retried.
            try await database.execute(Statement("select media.retry_photo($1)", [failed]))
            try await database.execute(Statement("select media.remove($1)", [failed]))
            #expect(try await database.removals == ["u/1.jpg"])
            #expect(try await database.number("select count(original_removed_at) from media.photo") == 2)
            for call in ["media.submit('u/1.jpg')", "media.submit_upload('u/1.jpg', '\\x00')"] {
                #expect(try await database.state(of: call) == "ER409", "the removal would remove the new object")
            }
            // The second delivery of the same upload, as after a lost response.
            #expect(try await database.deliver(two) == "delivered")

            let kept = try await database.submit("'u/2.jpg', keep_original => true")
            let other = try await database.submit("'u/2.jpg'")
            for photo in [other, kept] {
                try await database.compress(photo)
                try await database.deliver(photo)
            }
            #expect(try await database.removals == ["u/1.jpg"])
            try await database.execute(Statement("select media.remove($1)", [kept]))
            #expect(try await database.removals.contains("u/2.jpg"))
            #expect(try await database.removals.count == 3, "the result of the removed photo too")
        }
    }

    @Test("an original that is the result of another photo, or that isn't stored yet, is not removed")
    func needed() async throws {
        try await withAppDatabase { database, _ in
            let first = try await database.submit("'u/1.jpg', keep_original => true")
            try await database.compress(first)
            try await database.deliver(first)
            let second = try await database.submit("'photos/\(first.uuidString.lowercased()).jpg'")
            try await database.compress(second)
            try await database.deliver(second)
            #expect(try await database.removals == [])

            let upload = try await database.query("select media.submit_upload('u/2.jpg', '\\x00')").scalar(UUID.self)
            let third = try await database.submit("'u/2.jpg'")
            try await database.compress(third)
            try await database.deliver(third)
            #expect(try await database.removals == [])
            #expect(try await database.deliver(upload) == "delivered")
            #expect(try await database.removals == ["u/2.jpg"])
            // An attempt that was lost, and has stored it once more.
            #expect(try await database.deliver(upload) == "unwanted")
        }
    }

    @Test("an original that is handed over again is the same upload, and is stored again only if a photo waits for it")
    func handedOverAgain() async throws {
        try await withAppDatabase { database, _ in
            let call = "select media.submit_upload('u/1.jpg', '\\x00')"
            let upload = try await database.query(Statement(call)).scalar(UUID.self)
            let first = try await database.submit("'u/1.jpg'")
            try await database.compress(first)
            try await database.deliver(upload)
            try await database.deliver(first)
            #expect(
                try await database.lines("select state from media.upload_status where photo is null") == ["removed"])
            #expect(try await database.query(Statement(call)).scalar(UUID.self) == upload)
            try await database.execute("delete from media.removal")
            #expect(try await database.query(Statement(call)).scalar(UUID.self) == upload)
            #expect(try await database.number("select count(bytes) from media.upload") == 0)

            let second = try await database.submit("'u/1.jpg'")
            let failed = Statement("select media.not_compressed_v1($1, 'storage: not found: u/1.jpg', true)", [second])
            #expect(try await database.query(failed).scalar(Bool.self))
            #expect(try await database.query(Statement(call)).scalar(UUID.self) == upload)
            #expect(
                try await database.lines(
                    "select state, bytes, is_delivered from media.photo_to_compress_v1('\(second)')")
                    == ["submitted|\\x00|false"])
            try await database.deliver(upload)
            #expect(try await database.removals == [])
            try await database.compress(second)
            try await database.deliver(second)
            #expect(try await database.removals == ["u/1.jpg"])
        }
    }

    @Test("an attempt that finds no original any more, because another one was faster, fails nothing")
    func late() async throws {
        try await withAppDatabase { database, _ in
            let photo = try await database.submit("'u/1.jpg'")
            try await database.compress(photo)
            try await database.deliver(photo)
            for isMissing in [true, false] {
                let failed = Statement(
                    "select media.not_compressed_v1($1, 'storage: not found', $2)", [photo, isMissing])
                #expect(try await !database.query(failed).scalar(Bool.self))
            }
            #expect(try await database.lines("select state, error from media.photo_status") == ["delivered|"])
        }
    }
}
