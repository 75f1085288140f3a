import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Events") struct EventTests {
    @Test("E1: an event lasts 8 days and is kept 8 more, to the second, in a session of any time zone")
    func lasts() async throws {
        try await withAppDatabase { database, _ in
            // In Berlin, the clocks change during both.
            let spans = try await database.transaction { transaction in
                try await transaction.execute("set local time zone 'Europe/Berlin'")
                try await transaction.execute("select events.create('anna', 'Party', '2026-03-25 12:00+01')")
                return try await transaction.query(
                    """
                    select extract(epoch from ends_at - starts_at)::int8, extract(epoch from purge_at - ends_at)::int8
                    from events.event_status
                    """
                )[0].decode(Int.self, Int.self)
            }
            #expect(spans == (8 * 86_400, 8 * 86_400))
        }
    }

    @Test("joining, joining again, joining too late and joining no event have different results")
    func joins() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent()
            let none = UUID()
            func join(_ event: UUID, _ user: String) async throws -> String {
                try await database.query(Statement("select events.join($1, $2)", [event, user])).scalar(String.self)
            }
            #expect(try await join(event, "anna") == "already_joined")
            #expect(try await join(event, "ben") == "joined")
            #expect(try await join(event, "ben") == "already_joined")
            #expect(try await join(none, "ben") == "no_event")
            try await database.age(event, by: 8 * 86_400)
            #expect(try await join(event, "carl") == "ended")
            #expect(try await database.number("select participants from events.event_status") == 2)
        }
    }

    @Test("participants see the names and roles of each other, and nobody else sees them")
    func names() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.query("select events.create('anna', 'Party', host_name => 'Anna')").scalar(
                UUID.self)
            func seen(by user: String) async throws -> [String] {
                try await database.lines(
                    "select user_id, name, role, photos from events.participants_of('\(event)', '\(user)')")
            }
            try await database.execute(
                "select events.join(id, 'ben', name => 'Ben'), events.join(id, 'carl') from events.event")
            try await database.add("1.jpg", to: event, by: "ben")
            #expect(try await seen(by: "carl") == ["anna|Anna|host|0", "ben|Ben|guest|1", "carl||guest|0"])
            #expect(try await seen(by: "eve") == [])
            // Joining again renames nobody, and a host who comes back is the host again.
            #expect(try await database.lines("select events.join('\(event)', 'ben', 'Eve')") == ["already_joined"])
            #expect(try await database.lines("select status from events.leave('\(event)', 'anna')") == ["left"])
            #expect(try await database.lines("select events.join('\(event)', 'anna')") == ["joined"])
            func rename(_ event: UUID, _ user: String, _ name: String) async throws -> [String] {
                try await database.lines("select events.rename_participant('\(event)', '\(user)', \(name))")
            }
            #expect(try await rename(event, "carl", "'Carl'") == ["renamed"])
            #expect(try await rename(event, "ben", "null") == ["renamed"])
            #expect(try await rename(event, "eve", "'Eve'") == ["not_joined"])
            #expect(try await rename(UUID(), "ben", "'Ben'") == ["no_event"])
            #expect(try await seen(by: "ben") == ["anna||host|0", "ben||guest|1", "carl|Carl|guest|0"])
        }
    }

    @Test("a photo is added by a participant, while the event lasts, once a key, and its jobs with it")
    func adds() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            let first = try await database.add("1.jpg", to: event, by: "ben")
            #expect(first.status == "added")
            let again = try await database.add("1.jpg", to: event, by: "ben")
            #expect(again.status == "already_added" && again.photo == first.photo)
            #expect(try await database.add("2.jpg", to: event, by: "carl").status == "not_joined")
            #expect(try await database.add("2.jpg", to: UUID(), by: "ben").status == "no_event")
            try await database.age(event, by: -3600)
            #expect(try await database.add("2.jpg", to: event, by: "ben").status == "not_started")
            try await database.age(event, by: 3600 + 8 * 86_400)
            #expect(try await database.add("2.jpg", to: event, by: "ben").status == "ended")
            #expect(
                try await database.lines(
                    "select kind, payload ->> 'photo', state from errand.job")
                    == ["image_compression|\(try #require(first.photo).uuidString.lowercased())|available"])
            #expect(
                try await database.lines("select user_id, state from events.event_photo_status") == ["ben|submitted"])
        }
    }

    @Test("a photo is added with variants, and a call with a variant that nothing can make adds nothing")
    func addsVariants() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            func add(_ variant: String) async throws -> [String] {
                try await database.lines(
                    """
                    select status, photos_left from events.add_photo(
                        '\(event)', 'ben', 'events/' || '\(event)'::uuid || '/1.jpg', '[\(variant)]')
                    """)
            }
            await #expect(throws: PostgresError.self) { try await add(#"{"name": "thumb", "max_edge": 1}"#) }
            let added = try await add(#"{"name": "thumb", "max_edge": 320}"#)
            #expect(added.first?.hasPrefix("added|") == true)
            #expect(
                try await database.lines(
                    "select variant ->> 'max_edge' from media.photo, jsonb_array_elements(variants) as variant") == [
                        "320"
                    ])
        }
    }

    @Test(
        "E4: 50 sessions add to an event with 10 places left at once: exactly 10 do, and the others are told that it is full",
        .enabled(if: !TestServer.isPooled, "a pooler has fewer sessions than this needs"))
    func full() async throws {
        try await withAppDatabase(connections: 52) { database, _ in
            let event = try await database.makeEvent(inAll: 12, guests: (1...50).map { "guest-\($0)" })
            for number in 1...2 { try await database.add("first-\(number).jpg", to: event) }
            let statuses = try await atOnce(50, holding: event, in: database) { number in
                try await database.add("\(number).jpg", to: event, by: "guest-\(number)").status
            }
            #expect(statuses.count { $0 == "added" } == 10 && statuses.count { $0 == "full" } == 40)
            #expect(try await database.number("select count(*) from events.photo") == 12)
            #expect(try await database.number("select count(*) from media.photo") == 12)
        }
    }

    @Test(
        "E4: 30 sessions of one person with 5 photos left: exactly 5 are added, and a deleted one gives its place back",
        .enabled(if: !TestServer.isPooled, "a pooler has fewer sessions than this needs"))
    func ownLimit() async throws {
        try await withAppDatabase(connections: 32) { database, _ in
            let event = try await database.makeEvent(each: 5, guests: ["ben"])
            try await database.add("anna.jpg", to: event)
            let statuses = try await atOnce(30, holding: event, in: database) { number in
                try await database.add("\(number).jpg", to: event, by: "ben").status
            }
            #expect(statuses.count { $0 == "added" } == 5 && statuses.count { $0 == "none_left" } == 25)
            try await database.execute(
                "select events.delete_photo(photo, 'ben') from (select photo from events.photo where user_id = 'ben' limit 2) as one"
            )
            #expect(try await database.number("select count(*) from events.photo where user_id = 'ben'") == 3)
            for number in 31...40 { try await database.add("\(number).jpg", to: event, by: "ben") }
            #expect(try await database.number("select count(*) from events.photo where user_id = 'ben'") == 5)
        }
    }

    @Test("E4: guests delete only their own photos, and a leaving participant only his own, if he asks for it")
    func deletes() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            let photo = try #require(try await database.add("1.jpg", to: event, by: "ben").photo)
            func delete(by user: String) async throws -> String {
                try await database.query(Statement("select events.delete_photo($1, $2)", [photo, user])).scalar(
                    String.self)
            }
            #expect(try await delete(by: "carl") == "not_yours")
            #expect(try await delete(by: "ben") == "deleted")
            #expect(try await delete(by: "ben") == "no_photo")
            // A key can't be reused until its object is deleted. The new object would be deleted with the old one.
            let error = await #expect(throws: PostgresError.self) {
                try await database.add("1.jpg", to: event, by: "ben")
            }
            #expect(error?.sqlState == "ER409")
            for number in 2...4 { try await database.add("\(number).jpg", to: event, by: "ben") }
            try await database.add("5.jpg", to: event)
            #expect(try await leave(event, false, database) == ["left|0"])
            #expect(try await leave(event, true, database) == ["not_joined|3"])
            #expect(try await leave(UUID(), true, database) == ["no_event|0"])
            #expect(try await database.lines("select user_id from events.photo") == ["anna"])
            #expect(try await database.number("select count(*) from media.photo") == 1)
            #expect(try await database.number("select count(*) from errand.job where kind = 'image_compression'") == 1)
        }
    }

    @Test("E1: bytes that were handed over for an event, and never added to it, go with it, and no others")
    func handedOver() async throws {
        try await withAppDatabase { database, _ in
            let (over, live) = (try await database.makeEvent(), try await database.makeEvent())
            for event in [over, live] {
                for name in ["1.jpg", "a/b/2.jpg"] {
                    try await database.execute(
                        Statement("select media.submit_upload($1, '\\x00')", [Database.key(name, in: event)]))
                }
            }
            try await database.letEnd(over)
            #expect(try await database.number("select count(*) from events.purge_due_v1()") == 1)
            #expect(
                try await database.lines(
                    "select count(*), bool_and(key like '\(Database.key("%", in: live))') from media.upload")
                    == ["2|true"])
            #expect(
                try await database.lines("select state, reason from errand.history where kind = 'upload_retry'")
                    == ["obsolete|its event is over", "obsolete|its event is over"])
            #expect(try await database.number("select count(*) from errand.job where kind = 'upload_retry'") == 2)
        }
    }

    @Test("invalid arguments are rejected, and so is a key outside of the event's folder")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            try await database.add("1.jpg", to: event)
            let id = event.uuidString.lowercased()
            for (call, state) in [
                ("events.create('', 'Party')", "ER422"), ("events.create('anna', '')", "ER422"),
                ("events.create('anna', null)", "ER422"), ("events.create(null, 'Party')", "ER422"),
                ("events.create('anna', 'Party', now(), now())", "ER422"),
                ("events.create('anna', 'Party', now(), now() + interval '367 days')", "ER422"),
                ("events.create('anna', 'Party', 'infinity')", "ER422"),
                ("events.create('anna', 'Party', '-infinity')", "ER422"),
                ("events.create('anna', 'Party', now(), 'infinity')", "ER422"),
                ("events.create('anna', 'Party', '294276-12-31')", "ER422"),
                ("events.create('anna', 'Party', now() + interval '100 years')", "ER422"),
                ("events.create(repeat('x', 100000), 'Party')", "ER422"),
                ("events.create('anna', repeat('x', 100000))", "ER422"),
                ("events.create('anna', 'Party', photos_each => 0)", "ER422"),
                ("events.create('anna', 'Party', photos_in_all => null)", "ER422"),
                ("events.join('\(id)', 'carl', '')", "ER422"),
                ("events.join('\(id)', 'carl', repeat('x', 101))", "ER422"),
                ("events.rename_participant('\(id)', 'ben', repeat('x', 101))", "ER422"),
                ("events.create('anna', 'Party', host_name => '')", "ER422"),
                ("events.participants_of('\(id)', null)", "ER422"),
                ("events.join('\(id)', null)", "ER422"), ("events.leave('\(id)', repeat('x', 201))", "ER422"),
                ("events.add_photo('\(id)', 'anna', 'photos/1.jpg')", "ER422"),
                ("events.add_photo('\(id)', 'anna', 'events/\(UUID())/1.jpg')", "ER422"),
                ("events.add_photo('\(id)', 'anna', 'events/\(id)/../1.jpg')", "ER422"),
                ("events.add_photo('\(id)', 'anna', 'events/\(id)/')", "ER422"),
                ("events.add_photo('\(id)', 'anna', null)", "ER422"),
                ("events.add_photo('\(id)', 'ben', 'events/\(id)/1.jpg')", "ER409"),
                ("events.set_kept_from('middle', 'x')", "ER422"), ("events.set_kept_from(null, 'x')", "ER422"),
                ("events.set_kept_from('start', '')", "ER422"),
                ("media.remove_folder('events', 'x')", "ER422"), ("media.remove_folder('/', 'x')", "ER422"),
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select \(call)"))
                }
                #expect(error?.sqlState == state, "\(call)")
            }
        }
    }

    private func leave(_ event: UUID, _ withPhotos: Bool, _ database: Database) async throws -> [String] {
        try await database.lines(
            "select status, photos from events.leave('\(event)', 'ben', with_photos => \(withPhotos))")
    }

    /// Runs that many calls concurrently. All wait for the event's row before the first one continues.
    private func atOnce(
        _ count: Int, holding event: UUID, in database: Database,
        _ call: @escaping @Sendable (Int) async throws -> String
    ) async throws -> [String] {
        try await withThrowingTaskGroup(of: String.self) { group in
            try await database.transaction { gate in
                try await gate.execute(Statement("select from events.event where id = $1 for update", [event]))
                for number in 1...count { group.addTask { try await call(number) } }
                let waiting = "from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
                #expect(try await database.becomes("count(*) >= \(count) \(waiting)"))
            }
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
    }
}
