import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Hosts of events") struct HostTests {
    @Test("only the host edits, ends and deletes an event, and each call says what became of it")
    func hostsOnly() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            for call in ["edit", "end_now", "delete"] {
                #expect(try await database.lines("select events.\(call)('\(event)', 'ben')") == ["not_host"])
                #expect(try await database.lines("select events.\(call)('\(UUID())', 'anna')") == ["no_event"])
            }
            #expect(
                try await database.lines(
                    """
                    select events.edit('\(event)', 'anna', title => 'Garden party', starts_at => now() + interval '1 h',
                        ends_at => now() + interval '1 day', photos_each => 2, photos_in_all => 3)
                    """) == ["edited"])
            #expect(try await database.lines("select events.end_now('\(event)', 'anna')") == ["not_started"])
            #expect(
                try await database.lines("select title, state, photos_each, photos_in_all from events.event_status")
                    == ["Garden party|planned|2|3"])
            #expect(try await database.lines("select events.edit('\(event)', 'anna')") == ["edited"])
            #expect(try await database.number("select photos_each from events.event_status") == 2)
        }
    }

    @Test("an event that its host ends takes no photo, is kept for 8 days from then, and can be prolonged")
    func ends() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            #expect(try await database.lines("select events.end_now('\(event)', 'anna')") == ["ended"])
            #expect(try await database.lines("select events.end_now('\(event)', 'anna')") == ["already_ended"])
            #expect(try await database.add("1.jpg", to: event, by: "ben").status == "ended")
            #expect(
                try await database.lines(
                    """
                    select state, purge_at = ends_at + interval '192 hours', ends_at between now() - interval '1 min'
                        and now()
                    from events.event_status
                    """) == ["ended|true|true"])
            #expect(
                try await database.lines("select events.edit('\(event)', 'anna', ends_at => now() + interval '1 h')")
                    == ["edited"])
            #expect(try await database.add("1.jpg", to: event, by: "ben").status == "added")
        }
    }

    @Test("E4: a lowered limit deletes no photo, and none is added until there is room again")
    func lowered() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent()
            for number in 1...3 { try await database.add("\(number).jpg", to: event) }
            try await database.execute("select events.edit(id, host, photos_each => 2) from events.event")
            #expect(try await database.add("4.jpg", to: event).status == "none_left")
            try await database.execute("select events.delete_photo(photo, user_id) from events.photo")
            #expect(try await database.add("4.jpg", to: event).status == "added")
        }
    }

    @Test("E1: an event that its host deletes goes at once, its objects with the next removal; a receipt counts them")
    func deletes() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store = try FolderStore(root: root)
        try await withAppQueue([ObjectRemovalHandler(store: store)]) { test in
            let database = test.database
            let (over, live) = (try await database.makeEvent(guests: ["ben"]), try await database.makeEvent())
            for number in 1...3 { try await addDelivered("\(number).jpg", to: over, by: "ben", database, store) }
            try await addDelivered("1.jpg", to: live, database, store)
            #expect(try await database.lines("select events.delete('\(over)', 'anna')") == ["deleted"])
            #expect(try await database.lines("select id from events.event") == ["\(live)".lowercased()])
            #expect(try await database.lines("select events.delete('\(over)', 'anna')") == ["no_event"])
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await store.all().count == 2)
            #expect(
                try await database.lines("select reason, people, photos, objects from media.receipt_status")
                    == ["event_deletion|2|3|6"])
        }
    }

    @Test("E6: the host gets the numbers of photos and of active participants, and nobody else does")
    func figures() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben", "carl", "dora", "eve"])
            func figures(_ user: String) async throws -> [String] {
                try await database.lines(
                    """
                    select photos, failed, participants, active_participants, last_photo_at is not null
                    from events.figures_of('\(event)', '\(user)')
                    """)
            }
            #expect(try await figures("anna") == ["0|0|5|0|false"])
            for (name, user) in [("1.jpg", "ben"), ("2.jpg", "ben"), ("3.jpg", "carl"), ("4.jpg", "dora")] {
                try await database.add(name, to: event, by: user)
            }
            // Dora leaves her photo to the others. Carl's has failed.
            try await database.execute(Statement("select events.leave($1, 'dora')", [event]))
            try await database.execute(
                "update media.photo set state = 'failed', error = 'not_an_image' where owner = 'carl'")
            #expect(try await figures("anna") == ["4|1|4|1|true"])
            #expect(try await figures("ben") == [])
            #expect(try await figures("dora") == [])
        }
    }

    @Test("an edit is held to the bounds of a new event, and ends none")
    func bounds() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent()
            for change in [
                "title => ''", "title => repeat('x', 201)", "starts_at => '-infinity'", "starts_at => '294276-12-31'",
                "starts_at => now() + interval '9 days'", "ends_at => now()", "ends_at => 'infinity'",
                "ends_at => now() + interval '367 days'", "photos_each => 0", "photos_in_all => 20001",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(change)") {
                    try await database.execute(Statement("select events.edit('\(event)', 'anna', \(change))"))
                }
                #expect(error?.sqlState == "ER422", "\(change)")
            }
            // With the 8 days counted from the start, an earlier start would purge an ended event.
            try await database.execute("update events.rule set kept_from = 'start'")
            try await database.age(event, by: 8 * 86_400)
            try await database.execute("update events.event set starts_at = ends_at - interval '1 h'")
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute(
                    "select events.edit(id, host, starts_at => now() - interval '20 days') from events.event")
            }
            #expect(error?.sqlState == "ER422")
        }
    }

    @Test("the host deletes a guest's photo, and keeps a guest out until the guest is let in again")
    func moderates() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            let photo = try #require(try await database.add("1.jpg", to: event, by: "ben").photo)
            try await database.add("2.jpg", to: event, by: "ben")
            func say(_ call: String) async throws -> [String] { try await database.lines("select \(call)") }
            #expect(try await say("events.delete_photo('\(photo)', 'carl')") == ["not_yours"])
            #expect(try await say("events.delete_photo('\(photo)', 'anna')") == ["deleted"])
            #expect(
                try await say("concat_ws(\' \', status, photos) from events.exclude('\(event)', 'ben', 'anna')") == [
                    "not_host 0"
                ])
            #expect(
                try await say("concat_ws(\' \', status, photos) from events.exclude('\(event)', 'anna', 'anna')") == [
                    "is_host 0"
                ])
            #expect(
                try await say("concat_ws(\' \', status, photos) from events.exclude('\(UUID())', 'anna', 'ben')") == [
                    "no_event 0"
                ])
            #expect(
                try await say("concat_ws(\' \', status, photos) from events.exclude('\(event)', 'anna', 'ben', true)")
                    == ["excluded 1"])
            #expect(
                try await say("concat_ws(\' \', status, photos) from events.exclude('\(event)', 'anna', 'ben')") == [
                    "excluded 0"
                ])
            #expect(try await database.number("select count(*) from events.photo") == 0)
            #expect(try await say("events.join('\(event)', 'ben')") == ["excluded"])
            #expect(try await say("people.export('ben') #> '{events,excluded}' is not null") == ["true"])
            #expect(try await say("events.readmit('\(event)', 'ben', 'ben')") == ["not_host"])
            #expect(try await say("events.readmit('\(event)', 'anna', 'carl')") == ["not_excluded"])
            #expect(try await say("events.readmit('\(event)', 'anna', 'ben')") == ["readmitted"])
            #expect(try await say("events.join('\(event)', 'ben')") == ["joined"])
        }
    }

    @Test("E3: a planned reveal is taken back: all see the photos, nobody is told, and its job is cancelled")
    func takesBack() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(reveal: 3600, guests: ["ben"])
            try await database.add("1.jpg", to: event, by: "ben")
            let seen = "select count(*) from events.photos_of('\(event)', 'anna')"
            #expect(try await database.number(seen) == 0)
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute(
                    Statement("select events.edit('\(event)', 'anna', reveal_at => now(), without_reveal => true)"))
            }
            #expect(error?.sqlState == "ER422")
            let edit = "select events.edit('\(event)', 'anna', without_reveal => true)"
            #expect(try await database.lines(edit) == ["edited"])
            #expect(try await database.number(seen) == 1)
            #expect(try await database.number("select count(*) from errand.job where kind = 'event_reveal'") == 0)
            #expect(try await database.lines(edit) == ["edited"])
            try await database.execute(Statement("select events.edit('\(event)', 'anna', reveal_at => now())"))
            #expect(try await database.lines(edit) == ["revealed"])
        }
    }

    @Test("a user's events and an event's photos come in pages, each once, with the own ones alone if asked")
    func pages() async throws {
        try await withAppDatabase { database, _ in
            for _ in 1...3 { try await database.makeEvent(guests: ["ben"]) }
            let event = try await database.makeEvent(guests: ["ben"])
            for number in 1...5 {
                try await database.add("\(number).jpg", to: event, by: number == 3 ? "anna" : "ben")
            }
            func collect(_ call: String, size: Int) async throws -> [String] {
                var ids: [String] = []
                while ids.count < 20 {
                    let after = ids.last.map { "'\($0)'" } ?? "null"
                    let page = try await database.lines(
                        "select id from \(call), after => \(after), most => \(size))")
                    #expect(page.count <= size)
                    if page.isEmpty { break }
                    ids += page
                }
                return ids
            }
            let photos = "events.photos_of('\(event)', 'ben'"
            let all = try await database.lines("select photo from events.photo order by added_at")
            for size in [1, 2, 5] { #expect(try await collect(photos, size: size) == all) }
            #expect(
                try await collect(photos + ", only_own => true", size: 2)
                    == all.enumerated().filter { $0.offset != 2 }.map(\.element))
            let events = try await database.lines("select id from events.event order by ends_at desc, id desc")
            for size in [1, 3, 4] { #expect(try await collect("events.of_user('ben'", size: size) == events) }
            #expect(
                try await database.lines(
                    "select role, photos, own_photos, photos_left from events.of_user('ben') where id = '\(event)'")
                    == ["guest|5|4|20"])
            #expect(try await database.lines("select role from events.of_user('anna', most => 1)") == ["host"])
            #expect(try await database.number("select count(*) from events.of_user('carl')") == 0)
            for page in ["events.of_user('ben', most => 0)", "events.photos_of('\(event)', 'ben', most => 1001)"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select * from \(page)"))
                }
                #expect(error?.sqlState == "ER422")
            }
        }
    }
}
