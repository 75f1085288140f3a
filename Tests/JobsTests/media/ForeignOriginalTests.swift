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

@Suite("Originals of others") struct ForeignOriginalTests {
    @Test("another owner's object is refused as an original, and so are its bytes: upload, original, result, variant")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            let thumb = #"[{"name": "thumb", "max_edge": 16, "format": "webp"}]"#
            let photo = try await database.submit("'u/original.jpg', 'ben', variants => '\(thumb)'")
            try await database.execute(
                Statement(
                    """
                    select media.compressed_v1($1, 'photos/1.jpg', '{}', '\\x01',
                        '[{"name": "thumb", "report": {"width": 3, "height": 2}}]', '{"\\\\x0202"}')
                    """, [photo]))
            try await database.execute("select media.submit_upload('u/upload.jpg', '\\x00', owner => 'ben')")
            for key in ["u/upload.jpg", "u/original.jpg", "photos/1.jpg", "photos/1.thumb.webp"] {
                for owner in ["'eve'", "null"] {
                    #expect(try await database.state(of: "media.submit('\(key)', \(owner))") == "ER409", "\(key)")
                }
                let call = "media.submit_upload('\(key)', '\\x00', owner => 'eve', replace => true)"
                #expect(try await database.state(of: call) == "ER409", "\(key)")
                #expect(try await database.state(of: "media.submit('\(key)', 'ben')") == nil, "\(key)")
            }
            #expect(try await database.number("select count(*) from media.photo where owner = 'ben'") == 5)
            #expect(try await database.number("select count(*) from media.photo") == 5)
            // An upload without an owner is the original of the first person who submits it.
            try await database.execute("select media.submit_upload('u/nobody.jpg', '\\x00')")
            #expect(try await database.state(of: "media.submit('u/nobody.jpg', 'ben')") == nil)
            #expect(try await database.state(of: "media.submit('u/nobody.jpg', 'eve')") == "ER409")
        }
    }

    @Test("an object that is handed over while another user submits it stays its owner's, whatever the photo becomes")
    func atOnce() async throws {
        try await withAppQueue([]) { test in
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("media-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let database = test.database
            let images = ImageProcessPool(.init(executable: "/bin/false"), logger: Logger(label: "test"))
            let handler = ImageCompressionHandler(store: try FolderStore(root: root), images: images, limit: 1 << 20)
            for ends in ["media.remove(id)", "media.erase_person('eve')"] {
                // Neither transaction sees the other.
                let photo = try await database.transaction { transaction in
                    try await transaction.execute("select media.submit_upload('u/1.jpg', '\\x00', owner => 'ben')")
                    return try await database.submit("'u/1.jpg', 'eve'")
                }
                let run = try await test.run(handler, ImageCompression(photo: photo))
                #expect(run.attemptOutcome == .failed, "\(run)")
                #expect(
                    try await database.lines("select error from media.photo_status")
                        == ["not_yours: the original is another owner's"])
                _ = try await database.lines("select \(ends) from media.photo")
                #expect(try await database.number("select count(*) from media.photo") == 0)
                #expect(try await database.removals == [])
                #expect(try await database.lines("select key, owner, bytes from media.upload") == ["u/1.jpg|ben|\\x00"])
                #expect(try await database.state(of: "media.submit('u/1.jpg', 'ben')") == nil)
                try await database.execute("delete from media.photo")
                try await database.execute("delete from media.upload")
            }
            await images.stop()
        }
    }
}
