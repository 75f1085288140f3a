import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Live updates of quotes") struct QuoteRoomTests {
    @Test("the room of quotes is told once of a stored or failed card, of new days, and of edited quotes")
    func changes() async throws {
        try await withAppDatabase { database, configuration in
            let drawn = "quotes.card_drawn_v1(id, '\\x00', 1080, 1080) from quotes.card"
            let failed = "quotes.card_failed_v1(id, 'cannot_fit') from quotes.card"
            let stored = "media.delivered_v1(id, key, revision) from media.upload"
            let calls: [(String, [String])] = [
                ("quotes.card(17)", []), (failed, ["quotes card_failed card_id,quote_id"]), ("quotes.card(17)", []),
                (drawn, []), (failed, []), (stored, ["quotes card_stored card_id,quote_id"]), (stored, []),
                ("quotes.rotate_v1()", []), ("quotes.rotate_v1(current_date + 3)", ["quotes rotated "]),
                ("quotes.rotate_v1(current_date + 3)", []),
                ("quotes.put('Know thyself.', 'Inscription', 'Wisdom')", []),
                ("quotes.put('Know thyself!', 'Inscription', 'Wisdom', id => 17)", ["quotes corrected quote_id"]),
                ("quotes.retire(17, 'it is wrong')", ["quotes retired quote_id"]),
            ]
            for (call, expected) in calls {
                let told = try await roomEvents(of: configuration, database) {
                    try await database.execute(Statement("select \(call)"))
                }
                #expect(told == expected, "\(call)")
            }
        }
    }
}
