import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Files of events") struct EventFilesTests {
    @Test("E6: one call has the archive and the QR codes with what a link needs, for participants alone")
    func links() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store = try FolderStore(root: root)
        let handlers: [any JobHandler] = [
            EventArchiveHandler(store: store), EventCodeHandler(), UploadRetryHandler(store: store),
        ]
        try await withAppQueue(handlers) { test in
            let database = test.database
            let event = try await database.query(
                "select events.create('anna', 'Party', ends_at => now() + interval '1 h', kept_days => 1)"
            ).scalar(UUID.self)
            for call in ["join($1, 'ben')", "code($1, 'party://2')"] {
                try await database.execute(Statement("select events.\(call)", [event]))
            }
            func files(_ user: String, _ columns: String = "what, state, key, link, link_seconds") async throws
                -> [String]
            {
                try await database.lines("select \(columns) from events.files_of('\(event)', '\(user)')")
            }
            #expect(try await files("ben") == ["code|drawing||party://2|"])
            try await addDelivered("1.jpg", to: event, by: "ben", database, store)
            try await database.execute(Statement("select events.archive($1, 'ben')", [event]))
            #expect(try await files("anna", "what, state, key") == ["archive|making|", "code|drawing|"])
            try await test.drain()
            for user in ["anna", "ben"] {
                #expect(
                    try await files(user, "what, state, type") == [
                        "archive|made|application/zip", "code|stored|image/png",
                    ])
                #expect(
                    try await files(user, "bytes > 0 and made_at <= now() and link_seconds between 89900 and 90000")
                        == ["true", "true"])
                for key in try await files(user, "key") {
                    #expect(try await store.size(of: ObjectKey(key)) != nil, "\(key)")
                }
            }
            // The event's purge ends its links.
            try await database.age(event, by: 89_000)
            #expect(try await files("ben", "link_seconds between 900 and 1000") == ["true", "true"])
            #expect(try await files("carl") == [])
            // As with the gallery, a reveal that is to come hides the archive.
            try await database.execute(
                "update events.event set reveal_at = now() + interval '10 s', revealed_at = null")
            #expect(try await files("anna", "what") == ["code"])
            #expect(try await database.state(of: "events.files_of('\(event)', '')") == "ER422")
        }
    }
}
