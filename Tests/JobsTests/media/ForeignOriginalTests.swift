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

    @Test("cards, codes and archives are neither originals nor handed over, made or not, and are drawn all the same")
    func generated() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent().uuidString.lowercased()
            let card = try await database.lines(
                "select key from quotes.card((select min(id) from quotes.quote))")[0]
            let code = try await database.lines("select key from events.code('\(event)', 'https://a.example/1')")[0]
            let keys = [card, code, "events/\(event)/archives/\(UUID()).zip", "cards/x.jpg"]
            for isDrawn in [false, true] {
                if isDrawn {
                    let drawn = try await database.lines(
                        """
                        select quotes.card_drawn_v1(card.id, '\\x00', 1, 1) and events.code_drawn_v1(code.id, '\\x00')
                        from quotes.card, events.code where card.key = '\(card)'
                        """)
                    #expect(drawn == ["true"])
                    #expect(try await database.number("select count(*) from media.upload") == 2)
                }
                for key in keys {
                    for owner in ["'eve'", "null"] {
                        for call in [
                            "media.submit('\(key)', \(owner))",
                            "media.submit_upload('\(key)', '\\x01', owner => \(owner), replace => true)",
                        ] {
                            #expect(try await database.state(of: call) == "ER409", "\(call)")
                        }
                    }
                }
                for key in keys where key.hasPrefix("events/") {
                    let call = "events.add_photo('\(event)', 'anna', '\(key)')"
                    #expect(try await database.state(of: call) == "ER409", "\(call)")
                }
            }
            #expect(try await database.number("select count(*) from media.photo") == 0)
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
