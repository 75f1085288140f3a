import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Display names") struct NameTests {
    @Test("M9: a changed name reaches the partner's devices and room, the same name again nobody")
    func renames() async throws {
        try await withTestDatabase { database, configuration in
            try await database.registerDevices(of: "anna", "ben")
            try await database.execute("select people.rename('anna', 'Alone')")
            try await database.pair("anna", "ben")
            let before = try await database.notifications.count
            var states: [String] = []
            let events = try await roomEvents(of: configuration, database) {
                for _ in 1...2 { states += try await database.lines("select people.rename('anna', 'Anna')") }
            }
            #expect(states == ["renamed", "unchanged"])
            #expect(events == ["user:ben partner_renamed pair_id"])
            #expect(try await database.notifications.dropFirst(before) == ["ben|-|partner_renamed"])
            #expect(try await database.lines("select people.name_of('anna'), people.name_of('ben')") == ["Anna|"])
        }
    }

    @Test("M9: a name has 1 to 100 characters, and none that control text")
    func refuses() async throws {
        try await withTestDatabase { database, _ in
            for name in [
                "null", "''", "'   '", "repeat('x', 101)", "E'a\\nb'", "E'a\\tb'", "E'\\u007f'", "E'a\\u0085'",
                "E'a\\u2028b'", "E'\\u202eanna'",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(name)") {
                    try await database.execute(Statement("select people.rename('anna', \(name))"))
                }
                #expect(error?.sqlState == "ER422", "\(name)")
            }
            let longest = try await database.lines("select people.rename('anna', repeat('é', 100))")
            #expect(longest == ["renamed"])
        }
    }
}
