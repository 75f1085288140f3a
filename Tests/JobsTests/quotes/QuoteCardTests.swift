import AppTestKit
import ErrandImages
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Quote cards") struct QuoteCardTests {
    @Test("Q5: a card is drawn and stored once, however often and by however many it is asked for")
    func Q5_drawnOnce() async throws {
        try await withService { service in
            let database = service.database
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { _ = try await database.query(Self.request) } }
                try await group.waitForAll()
            }
            #expect(
                try await database.becomes("exists (select from quotes.card_status where state = 'stored')"))
            let row = try await database.query(Self.request)[0]
            let (state, key, width, height) = try row.decode(String.self, String.self, Int.self, Int.self)
            #expect(state == "stored" && width == 1_080 && height == 1_920)
            let stored = try await service.store.get(ObjectKey(key))
            #expect(try ImageFormat(of: stored) == .jpeg && stored.count < 500_000)
            #expect(try await database.count("from errand.history where kind = 'quote_card'") == 1)
        }
    }

    @Test("Q5: a corrected quote has new cards, and the objects of the old ones are removed")
    func Q5_corrected() async throws {
        try await withService { service in
            let database = service.database
            _ = try await database.query(Self.request)
            #expect(
                try await database.becomes("exists (select from quotes.card_status where state = 'stored')"))
            let old = try await database.query("select key from quotes.card_status").scalar(String.self)
            try await database.execute(
                "select quotes.put('Know thyself.', 'Inscription at Delphi', 'Wisdom', id => 17)")
            let new = try await database.query("select key from quotes.card(17, format => 'story')").scalar(String.self)
            #expect(new != old)
            #expect(
                try await database.becomes("exists (select from quotes.card_status where state = 'stored')"))
            // The folder is checked when no upload to it can still run, and again until it is empty.
            #expect(try await database.count("from media.removal where is_folder") == 1)
            for _ in 1...4 {
                try await database.execute("select errand.enqueue('object_removal')")
                #expect(try await database.becomes("not exists (select from errand.job where kind = 'object_removal')"))
                try await database.ageRemovals()
            }
            #expect(try await database.count("from media.removal") == 0)
            #expect(try await service.store.size(of: ObjectKey(old)) == nil)
            #expect(try await service.store.size(of: ObjectKey(new)) != nil)
        }
    }

    @Test("Q5: without errand-image a card fails with the reason, and the same call tries it again")
    func Q5_failed() async throws {
        try await withService(images: "/nowhere/errand-image") { service in
            let database = service.database
            // In one commit, before a worker sees the job.
            try await database.transaction { transaction in
                _ = try await transaction.query(Self.request)
                try await transaction.execute("update errand.job set max_attempts = 1")
            }
            #expect(
                try await database.becomes(
                    "exists (select from quotes.card_status where state = 'failed' and error like 'unavailable: %')"))
            let state = try await database.query("select state from quotes.card(17, format => 'story')")
                .scalar(String.self)
            #expect(state == "drawing")
        }
    }

    private static let request: Statement =
        "select state, key, width, height from quotes.card(17, 'sky', 'light', 'story')"

    @Test("cards are neither originals nor handed over, made or not, and are drawn all the same")
    func generated() async throws {
        try await withAppDatabase { database, _ in
            let keys = try await database.lines("select key from quotes.card((select min(id) from quotes.quote))")
            try await database.refuses(generated: keys + ["cards/x.jpg"])
            #expect(
                try await database.lines("select quotes.card_drawn_v1(id, '\\x00', 1, 1) from quotes.card") == ["true"])
            #expect(try await database.number("select count(*) from media.upload") == 1)
            try await database.refuses(generated: keys)
        }
    }
}
