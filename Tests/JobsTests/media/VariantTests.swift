import AppTestKit
import Errand
import ErrandImages
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Variants of photos") struct VariantTests {
    private static let thumb = #"[{"name": "thumb", "max_edge": 16, "max_bytes": 4000, "format": "webp"}]"#

    @Test("M1: variants are stored with their result, and leave the store with their photo", arguments: [false, true])
    func stored(erases: Bool) async throws {
        try await withService { service in
            let (database, store) = (service.database, service.store)
            try await store.put(Samples.small, at: ObjectKey("uploads/1.png"))
            let variants =
                #"[{"name": "thumb", "max_edge": 16, "max_bytes": 4000, "format": "webp"}, "#
                + #"{"name": "b_2", "max_edge": 320}]"#
            let photo = try await database.submit("'uploads/1.png', 'ben', variants => '\(variants)'")
            #expect(try await database.reaches("state = 'delivered'", of: photo))
            let base = "photos/\(photo.uuidString.lowercased())"
            #expect(
                try await database.lines(
                    """
                    select name, key, width, format, delivered_at is not null from media.variant_status
                    where photo = '\(photo)' order by name
                    """) == ["b_2|\(base).b_2.jpg|16|jpeg|true", "thumb|\(base).thumb.webp|16|webp|true"])
            let sizes = try await database.lines("select key, bytes from media.variant_status")
            for line in sizes {
                let parts = line.split(separator: "|").map(String.init)
                #expect(try await store.size(of: ObjectKey(parts[0])).map { "\($0)" } == parts[1])
            }
            #expect(try ImageFormat(of: try await store.get(ObjectKey("\(base).thumb.webp"))) == .webp)
            #expect(try await database.number("select count(bytes) from media.variant") == 0)
            #expect(try await store.keys(beginning: "photos/", after: nil, atMost: 10).count == 3)

            // The photo, its result, two variants.
            if erases {
                #expect(try await database.number("select media.erase_person('ben')") == 4)
            } else {
                #expect(try await database.lines("select media.remove('\(photo)')") == ["true"])
            }
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(try await store.all() == [])
            #expect(try await database.number("select count(*) from media.variant") == 0)
        }
    }

    @Test("M3: a photo one of whose variants can't be made fails as a whole, and a retry makes all of them")
    func failed() async throws {
        try await withService { service in
            let (database, store) = (service.database, service.store)
            let photo = try await database.submit("'uploads/late.png', variants => '\(Self.thumb)'")
            #expect(try await database.reaches("state = 'failed'", of: photo))
            #expect(try await database.number("select count(*) from media.variant") == 0)
            #expect(try await store.all() == [])
            try await store.put(Samples.small, at: ObjectKey("uploads/late.png"))
            try await database.execute(Statement("select media.retry_photo($1)", [photo]))
            #expect(try await database.reaches("state = 'delivered'", of: photo))
            #expect(try await database.lines("select name from media.variant_status") == ["thumb"])
        }
    }

    @Test("variants are stored before the result, and a photo whose upload failed takes them along when it is removed")
    func taken() async throws {
        try await withService { service in
            let (database, store) = (service.database, service.store)
            try await store.put(Samples.small, at: ObjectKey("uploads/1.png"))
            // Another object has the key of the result, so that its upload fails.
            let photo = try await database.transaction { transaction in
                let photo = try await transaction.query(
                    Statement("select media.submit('uploads/1.png', variants => $1::text::jsonb)", [Self.thumb])
                ).scalar(UUID.self)
                try await store.put([1], at: ObjectKey("photos/\(photo.uuidString.lowercased()).jpg"))
                return photo
            }
            #expect(try await database.becomes("exists (select from media.upload_status where state = 'failed')"))
            #expect(try await store.size(of: ObjectKey("photos/\(photo.uuidString.lowercased()).thumb.webp")) != nil)
            #expect(try await database.lines("select state from media.photo_status") == ["compressed"])
            #expect(try await database.number("select count(bytes) from media.variant") == 1)
            try await database.execute(Statement("select media.remove($1)", [photo]))
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(try await store.size(of: ObjectKey("photos/\(photo.uuidString.lowercased()).thumb.webp")) == nil)
        }
    }

    @Test("what is no variant is refused with ER422, and the same submission is the same photo")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            let refused = [
                "null", "'null'", "'{}'", "'[1]'", "'[{}]'", "'[1, 2, 3, 4, 5]'",
                #"'[{"name": "A", "max_edge": 320}]'"#, #"'[{"name": "a/b", "max_edge": 320}]'"#,
                #"'[{"name": "a"}]'"#, #"'[{"name": "a", "max_edge": 15}]'"#,
                #"'[{"name": "a", "max_edge": "320"}]'"#, #"'[{"name": "a", "max_edge": 320.5}]'"#,
                #"'[{"name": "a", "max_edge": 320, "max_bytes": null}]'"#,
                #"'[{"name": "a", "max_edge": 320, "max_bytes": 999}]'"#,
                #"'[{"name": "a", "max_edge": 320, "format": "png"}]'"#,
                #"'[{"name": "a", "max_edge": 320, "edge": 1}]'"#,
                #"'[{"name": "a", "max_edge": 320}, {"name": "a", "max_edge": 640}]'"#,
            ]
            for variants in refused {
                let state = try await database.state(of: "media.submit('u/1.jpg', variants => \(variants))")
                #expect(state == "ER422", "\(variants)")
            }
            #expect(try await database.number("select count(*) from media.photo") == 0)

            let (a, b) = (#"{"name": "a", "max_edge": 640}"#, #"{"name": "b", "max_edge": 320, "format": "jpeg"}"#)
            let call = "'u/1.jpg', idempotency_key => 'one', variants => "
            let photo = try await database.submit("\(call)'[\(a), \(b)]'")
            #expect(try await database.submit("\(call)'[\(b), \(a)]'") == photo)
            #expect(try await database.state(of: "media.submit(\(call)'[\(a)]')") == "ER409")
            let recorded = "media.compressed_v1('\(photo)', 'photos/1.jpg', '{}', '\\x00')"
            #expect(try await database.state(of: recorded) == "ER422")
        }
    }

    @Test("the key of a variant is taken, and a variant that is an original is not removed as one")
    func keys() async throws {
        try await withAppDatabase { database, _ in
            let first = try await database.submit("'u/1.jpg', variants => '\(Self.thumb)'")
            try await database.execute(
                Statement(
                    """
                    select media.compressed_v1($1, 'photos/1.jpg', '{}', '\\x01',
                        '[{"name": "thumb", "report": {"width": 3, "height": 2}}]', '{"\\\\x0202"}')
                    """, [first]))
            for replaces in [false, true] {
                let call = "media.submit_upload('photos/1.thumb.webp', '\\x02', replace => \(replaces))"
                #expect(try await database.state(of: call) == "ER409")
            }
            try await database.deliver(first)
            let second = try await database.submit("'photos/1.thumb.webp'")
            try await database.compress(second)
            try await database.deliver(second)
            #expect(try await database.removals == ["u/1.jpg"])
            try await database.execute(Statement("select media.remove($1)", [second]))
            #expect(try await !database.removals.contains("photos/1.thumb.webp"))
            try await database.execute(Statement("select media.remove($1)", [first]))
            #expect(try await database.removals.contains("photos/1.thumb.webp"))
        }
    }
}
