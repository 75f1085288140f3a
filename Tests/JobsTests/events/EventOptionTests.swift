import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Options of events") struct EventOptionTests {
    @Test(
        "an event's photos are made as its options say, below 500,000 bytes, and keep their originals only if it says")
    func compresses() async throws {
        try await withService { service in
            let (database, original) = (service.database, try Samples.large())
            let small = try await make("keep_original => true, qualities => '[40,60]', max_edge => 1024", in: database)
            let best = try await make("qualities => '[100,100]', max_edge => 16384", in: database)
            func add(_ name: String, to event: UUID) async throws -> UUID {
                try await service.store.put(original, at: ObjectKey(Database.key(name, in: event)))
                return try #require(try await database.add(name, to: event).photo)
            }
            let photos = [try await add("1.jpg", to: small), try await add("1.jpg", to: best)]
            // For photos from now on.
            try await database.execute(
                Statement("select events.edit($1, 'anna', qualities => '[30,35]', max_edge => 640)", [small]))
            let later = try await add("2.jpg", to: small)
            for photo in photos + [later] { #expect(try await database.reaches("state = 'delivered'", of: photo)) }
            func made(_ photo: UUID, _ columns: String) async throws -> [String] {
                try await database.lines("select \(columns) from media.photo where id = '\(photo)'")
            }
            let edge = "greatest(width, height)"
            #expect(
                try await made(photos[0], "\(edge), quality between 40 and 60, bytes < 500000") == ["1024|true|true"])
            #expect(try await made(later, "\(edge), quality between 30 and 35, bytes < 500000") == ["640|true|true"])
            // Too many bytes at that quality: it has fewer pixels.
            let hardest = try await made(photos[1], "\(edge) < source_width, quality > 90, bytes < 500000")
            #expect(hardest == ["true|true|true"])
            for (photo, event) in zip(photos, [small, best]) {
                let (result, source) = (try await made(photo, "result_key")[0], Database.key("1.jpg", in: event))
                let stored = try await service.store.get(ObjectKey(result)).count
                #expect(stored < 500_000)
                let isListed = try await database.removals.contains(source)
                let isThere = try await service.store.size(of: ObjectKey(source)) != nil
                #expect(event == small ? isThere && !isListed : !isThere || isListed)
            }
        }
    }

    @Test("the original that is kept has the place where it was taken: the one who took the photo gets it, nobody else")
    func originals() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store = try FolderStore(root: root)
        try await withAppQueue([ObjectRemovalHandler(store: store)]) { test in
            let database = test.database
            let event = try await make("keep_original => true", in: database)
            try await database.execute(Statement("select events.join($1, 'ben')", [event]))
            let key = Database.key("1.jpg", in: event)
            try await store.put([1], at: ObjectKey(key))
            let photo = try #require(try await database.add("1.jpg", to: event, by: "ben").photo)
            try await database.compress(photo)
            try await database.deliver(photo)
            try await test.drain()
            func seen(by user: String) async throws -> [String] {
                try await database.lines("select original_key from events.photos_of('\(event)', '\(user)')")
            }
            #expect(try await seen(by: "ben") == [key])
            #expect(try await seen(by: "anna") == [""])
            #expect(try await store.all() == [key])
            // It goes with the photo.
            try await database.execute(Statement("select events.delete_photo($1, 'ben')", [photo]))
            try await test.drain()
            #expect(try await store.all() == [])
        }
    }

    @Test(
        "E1: an event is purged its own days after its end, or start, by an index; an edit moves that, and purges none")
    func stays() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store = try FolderStore(root: root)
        for from in ["end", "start"] {
            try await withAppQueue([ObjectRemovalHandler(store: store)]) { test in
                let database = test.database
                // Each lasts a day. With its days from the start, it goes a day earlier.
                func make(_ days: Int) async throws -> UUID {
                    try await self.make("ends_at => now() + interval '1 day', kept_days => \(days)", in: database)
                }
                let (day, lasts) = (86_400, from == "end" ? 1 : 0)
                let (short, long) = (try await make(2), try await make(30))
                try await database.execute(Statement("select events.set_kept_from($1, 'by the test')", [from]))
                func purged() async throws -> Int { try await database.purgeEvents().events }
                try await database.age(short, by: (lasts + 2) * day - 20)
                try await database.age(long, by: (lasts + 30) * day - 20)
                #expect(try await purged() == 0)
                #expect(
                    try await database.number(
                        """
                        select count(*) from events.event_status
                        where purge_at between now() and now() + interval '20 s'
                        """) == 2)
                // The host of an event that is over: one more day, but not fewer.
                let edit = "select events.edit('\(short)', 'anna', kept_days => "
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("\(edit) 1)"))
                }
                let refusal = error?.detail ?? ""
                #expect(refusal.contains("kept_days: expected one with which the event is kept"))
                #expect(try await database.lines("\(edit) 3)") == ["edited"])
                try await database.age(short, by: 20)
                try await database.age(long, by: 20)
                #expect(try await purged() == 1)
                #expect(try await database.lines("select id from events.event") == ["\(short)".lowercased()])
                try await database.age(short, by: day)
                #expect(try await purged() == 1)
                #expect(try await database.number("select count(*) from events.event") == 0)
            }
        }
    }

    @Test("an option out of its bounds is refused with what was expected and what came, at creation and by an edit")
    func bounds() async throws {
        try await withAppDatabase { database, _ in
            let event = try await make("", in: database)
            for (option, message) in [
                ("qualities => '[0,50]'", "qualities: expected a range within 1 to 100, such as [50,80], got [0,51)"),
                ("qualities => '[50,101]'", "expected a range within 1 to 100, such as [50,80], got [50,102)"),
                ("qualities => '[50,)'", "expected a range within 1 to 100, such as [50,80], got [50,)"),
                ("qualities => 'empty'", "expected a range within 1 to 100, such as [50,80], got empty"),
                ("max_edge => 15", "max_edge: expected 16 to 16384, got 15"),
                ("max_edge => 16385", "max_edge: expected 16 to 16384, got 16385"),
                ("kept_days => 0", "kept_days: expected 1 to 30, got 0"),
                ("kept_days => 31", "kept_days: expected 1 to 30, got 31"),
            ] {
                for call in ["create('anna', 'Party', \(option))", "edit('\(event)', 'anna', \(option))"] {
                    let error = await #expect(throws: PostgresError.self, "\(call)") {
                        try await database.execute(Statement("select events.\(call)"))
                    }
                    #expect(error?.sqlState == "ER422", "\(call)")
                    let refusal = error?.detail ?? ""
                    #expect(refusal.contains(message), "\(call): \(refusal)")
                }
            }
            for option in ["keep_original", "qualities", "max_edge", "kept_days"] {
                #expect(
                    try await database.state(of: "events.create('anna', 'Party', \(option) => null)") == "ER422",
                    "\(option)")
            }
            #expect(
                try await database.state(of: "media.submit('u/1.jpg', qualities => '[90,120]')") == "ER422")
            #expect(
                try await database.lines(
                    "select keep_original, qualities, max_edge, kept_days from events.event_status")
                    == ["false|[72,101)|2560|8"])
        }
    }

    /// An event of anna's with these options.
    private func make(_ options: String, in database: Database) async throws -> UUID {
        let call = options.isEmpty ? "" : ", \(options)"
        return try await database.query(Statement("select events.create('anna', 'Party'\(call))")).scalar(UUID.self)
    }
}
