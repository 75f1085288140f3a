import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Persons in events") struct EventErasureTests {
    @Test("E5: a person's photos, participations and own events go with all objects, and nothing of others does")
    func erases() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store = try FolderStore(root: root)
        try await withAppQueue([ObjectRemovalHandler(store: store)]) { test in
            let database = test.database
            let annas = try await database.makeEvent(guests: ["ben", "carl"])
            let bens = try await database.query(
                "select events.create('ben', 'His party', reveal_at => now() + interval '1 h')"
            ).scalar(UUID.self)
            try await database.execute(Statement("select events.join($1, 'carl')", [bens]))
            for (name, user) in [("1.jpg", "ben"), ("2.jpg", "ben"), ("3.jpg", "carl")] {
                try await addDelivered(name, to: annas, by: user, database, store)
            }
            try await addDelivered("4.jpg", to: bens, by: "carl", database, store)
            try await database.execute("delete from errand.job")

            #expect(try await database.number("select events.erase_person('eve')") == 0)
            // Two photos and a participation; the own event, its two participants and its photo.
            #expect(try await database.number("select events.erase_person('ben')") == 2 + 1 + 1 + 2 + 1)
            #expect(try await database.number("select events.erase_person('ben')") == 0)
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(
                try await database.lines("select user_id from events.participant order by user_id") == ["anna", "carl"])
            #expect(try await database.lines("select user_id from events.photo") == ["carl"])
            #expect(try await store.all().count == 2)
            #expect(
                try await database.lines("select reason, people, photos, objects from media.receipt order by objects")
                    == ["erasure|2|1|2", "erasure|1|2|4"])
            #expect(try await database.lines("select events.export_person('ben')") == ["{}"])
        }
    }

    @Test("E5: what ended jobs say of photos is blanked, of the person's own event too, and of nobody else's")
    func blanks() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store = try FolderStore(root: root)
        try await withAppDatabase { database, _ in
            let annas = try await database.makeEvent(guests: ["ben"])
            let bens = try await database.query("select events.create('ben', 'His party')").scalar(UUID.self)
            try await addDelivered("1.jpg", to: annas, by: "anna", database, store)
            try await addDelivered("2.jpg", to: annas, by: "ben", database, store)
            try await addDelivered("3.jpg", to: bens, by: "ben", database, store)
            try await database.execute(
                """
                insert into errand.history (
                    id, created_at, run_at, priority, attempt, max_attempts, crashes, queue, kind, state, unique_key,
                    payload, attempts, subject)
                select
                    100 + row_number() over (), now(), now(), 2, 1, 1, 0, 'default', 'image_compression', 'succeeded',
                    'image_compression/' || id, jsonb_build_object('photo', id),
                    jsonb_build_array(jsonb_build_object('error', 'no ' || id)), owner
                from media.photo
                """)
            let named = """
                select subject || ' ' || count(*)
                from errand.history
                where payload ? 'photo' and attempts::text like '%no %' and unique_key is not null
                group by subject
                order by subject
                """
            #expect(try await database.lines(named) == ["anna 1", "ben 2"])
            try await database.execute("select people.erase('ben')")
            #expect(try await database.lines(named) == ["anna 1"])
            #expect(
                try await database.number("select count(*) from errand.history where kind = 'image_compression'") == 3)
        }
    }

    @Test("E5: an export has a person's events, participations and photos, and those of nobody else")
    func exports() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            try await database.add("1.jpg", to: event, by: "ben")
            try await database.add("2.jpg", to: event)
            let counts = """
                select jsonb_array_length(data -> 'hosted'), jsonb_array_length(data -> 'joined'),
                    jsonb_array_length(data -> 'photos'), data -> 'photos' -> 0 ->> 'source_key'
                from (select events.export_person
                """
            #expect(
                try await database.lines("\(counts)('anna') as data) as one")
                    == ["1|1|1|\(Database.key("2.jpg", in: event))"])
            #expect(
                try await database.lines("\(counts)('ben') as data) as one")
                    == ["|1|1|\(Database.key("1.jpg", in: event))"])
            #expect(try await database.lines("select events.export_person('eve')") == ["{}"])
        }
    }
}
