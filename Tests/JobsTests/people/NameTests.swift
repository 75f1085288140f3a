import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Display names") struct NameTests {
    @Test("M9: a changed name reaches the partner's devices and room, the same name again nobody")
    func renames() async throws {
        try await withAppDatabase { database, configuration in
            try await database.registerDevices(of: "anna", "ben")
            try await database.execute("select people.rename('anna', 'Alone')")
            try await database.pair("anna", "ben")
            let before = try await database.notifications.count
            var states: [String] = []
            let events = try await roomEvents(of: configuration, database) {
                for _ in 1...2 { states += try await database.lines("select people.rename('anna', 'Anna')") }
            }
            #expect(states == ["renamed", "unchanged"])
            #expect(events == ["user:anna renamed ", "user:ben partner_renamed pair_id"])
            #expect(
                try await database.notifications.dropFirst(before) == ["anna|-|renamed", "ben|-|partner_renamed"])
            #expect(try await database.lines("select people.name_of('anna'), people.name_of('ben')") == ["Anna|"])
        }
    }

    @Test("M9: a name that is set while the pair forms reaches the partner")
    func forming() async throws {
        try await withAppDatabase { database, _ in
            try await database.registerDevices(of: "ben")
            let code = try await database.query("select code from pairing.create_invite('anna')").scalar(String.self)
            let renaming: Task<Void, any Error> = try await database.transaction { pairing in
                try await pairing.execute(Statement("select pairing.redeem_invite($1, 'ben')", [code]))
                let renaming = Task { _ = try await database.execute("select people.rename('anna', 'Anna')") }
                let waits = """
                    exists (
                        select from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock')
                    """
                #expect(try await database.becomes(waits))
                return renaming
            }
            try await renaming.value
            #expect(try await database.notifications.last == "ben|-|partner_renamed")
        }
    }

    @Test("M9: a name has 1 to 100 characters, and none that control text")
    func refuses() async throws {
        try await withAppDatabase { database, _ in
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
