import ErrandTestKit
import Foundation
import Postgres

/// The persons of one cell of the table: Anna and Ben are a pair, and both are in Anna's event, which reveals its
/// photos later. Ben has an iPhone and an Android phone, and both have the quote of the day.
struct Cast: Sendable {
    let number: Int
    var event = ""
    let original: String

    var anna: String { "anna-\(number)" }
    var ben: String { "ben-\(number)" }
    var carl: String { "carl-\(number)" }

    init(number: Int) {
        self.number = number
        original = "moments/\(UUID().uuidString.lowercased()).png"
    }

    /// The key of another original, below the event's folder.
    var eventOriginal: String { "events/\(event)/\(number).png" }

    /// The update token of the activity.
    var token: String { Self.hex("activity", number) }
    /// Ben's push-to-start token.
    var startToken: String { Self.hex("start", number) }
    var apple: String { Self.hex("ben", number) }
    var google: String { "google-\(number)" }

    private static func hex(_ name: String, _ number: Int) -> String {
        let text = String(number, radix: 16)
        let letters = name.utf8.map { String($0, radix: 16) }.joined()
        return letters + String(repeating: "0", count: 64 - letters.count - text.count) + text
    }

    /// Registers devices, and makes the pair, the event and the subscriptions.
    mutating func enter(_ database: Database) async throws {
        event = try await database.query(
            Statement("select events.create($1, 'Party', reveal_at => now() + interval '1 hour')::text", [anna])
        ).scalar(String.self)
        try await database.execute(Statement("select events.join($1::text::uuid, $2)", [event, ben]))
        try await database.execute(
            Statement("select devices.register($1, 'apns', $2), devices.register($1, 'fcm', $3)", [ben, apple, google]))
        try await database.execute(
            Statement("select quotes.subscribe(id, '08:30', 'UTC') from unnest($1::text[]) as id", [[anna, ben]]))
    }

    var pairing: String {
        "select pairing.redeem_invite(code, '\(ben)') from pairing.create_invite('\(anna)')"
    }
}
