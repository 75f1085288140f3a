import AppTestKit
import ErrandTestKit
import Foundation
import Postgres

/// The persons of one cell of the table. What they have before the flow is the apps' matter: ``AppCase/Topic/enter``.
struct Cast: Sendable {
    let number: Int
    /// What the SQL of the apps knows by name.
    private(set) var values: [String: String]

    var anna: String { self["anna"] }
    var ben: String { self["ben"] }
    var carl: String { self["carl"] }
    /// The key of an original that a phone puts into the store.
    var original: String { self["original"] }
    /// The update token of a Live Activity.
    var token: String { Self.hex("activity", number) }
    /// Ben's push-to-start token.
    var startToken: String { Self.hex("start", number) }

    init(number: Int) {
        self.number = number
        values = [
            "anna": "anna-\(number)", "ben": "ben-\(number)", "carl": "carl-\(number)", "image": Flow.image,
            "original": "moments/\(UUID().uuidString.lowercased()).png", "apple": Self.hex("ben", number),
            "google": "google-\(number)",
        ]
    }

    subscript(name: String) -> String { values[name] ?? "" }

    private static func hex(_ name: String, _ number: Int) -> String {
        let text = String(number, radix: 16)
        let letters = name.utf8.map { String($0, radix: 16) }.joined()
        return letters + String(repeating: "0", count: 64 - letters.count - text.count) + text
    }

    /// Makes what the persons have in each app.
    mutating func enter(_ database: Database) async throws {
        for entry in AppCase.all(.enter) {
            for statement in entry.statements(with: values) {
                if entry.name.isEmpty {
                    try await database.execute(Statement(statement))
                } else {
                    values[entry.name] = try await database.query(Statement(statement)).scalar(String.self)
                }
            }
        }
    }
}
