import Testing

@Suite("Isolation levels of events") struct EventIsolationTests {
    @Test(
        "E4: no limit is broken by a transaction with an older snapshot: it is told, or fails with 40001",
        arguments: Race.levels)
    func race(level: String) async throws {
        try await Race.run(Self.races, at: level, reading: "events.event, media.photo")
    }

    private static let races = [
        Race(
            "a participant's photos", given: event(each: 1, inAll: 9), add("1.jpg"), add("2.jpg"), "none_left",
            holds: "(select count(*) from events.photo) = 1"),
        Race(
            "an event's photos", given: event(each: 9, inAll: 1), add("1.jpg"), add("2.jpg", by: "anna"), "full",
            holds: "(select count(*) from events.photo) = 1"),
        Race(
            "a photo of a participant who has left", given: event(each: 9, inAll: 9), leave, add("1.jpg"), "not_joined",
            holds: "not exists (select from events.photo)"),
        Race(
            "a participant who leaves with all photos", given: event(each: 9, inAll: 9), add("1.jpg"), leave, "left",
            holds: """
                not exists (
                    select from events.photo
                    where user_id not in (select participant.user_id from events.participant))
                """),
        Race(
            "a limit that the host lowers", given: event(each: 9, inAll: 9) + [add("1.jpg")], edit("photos_each => 1"),
            add("2.jpg"), "none_left", holds: "(select count(*) from events.photo) = 1"),
        Race(
            "a photo of an event that its host ends", given: event(each: 9, inAll: 9), host("end_now"), add("1.jpg"),
            "ended", holds: "not exists (select from events.photo)"),
        Race(
            "a photo of an event that its host deletes", given: event(each: 9, inAll: 9), host("delete"),
            """
            select status
            from (select coalesce((select id from events.event), gen_random_uuid()) as id) as drawn,
                events.add_photo(id, 'ben', 'events/' || id || '/1.jpg')
            """, "no_event", holds: "not exists (select from media.photo)"),
        Race(
            "a photo of a person who is erased", given: event(each: 9, inAll: 9), "select events.erase_person('ben')",
            add("1.jpg"), "not_joined", holds: "not exists (select from events.photo)"),
        Race(
            "a reveal that is moved when it is over", given: event(each: 9, inAll: 9) + [edit("reveal_at => now()")],
            "select status from events.event, events.reveal_v1(id)", edit("reveal_at => now() + interval '1 h'"),
            "revealed", holds: "(select reveal_at <= now() from events.event)"),
        Race(
            "a user who joins twice", given: event(each: 9, inAll: 9), join("carl"), join("carl"), "already_joined",
            holds: "(select count(*) from events.participant) = 3"),
    ]

    private static func event(each: Int, inAll: Int) -> [String] {
        [
            "select events.create('anna', 'Party', photos_each => \(each), photos_in_all => \(inAll))",
            "select events.join(id, 'ben') from events.event",
        ]
    }

    private static func add(_ name: String, by user: String = "ben") -> String {
        "select status from events.event, events.add_photo(id, '\(user)', 'events/' || id || '/\(name)')"
    }

    private static func join(_ user: String) -> String { "select events.join(id, '\(user)') from events.event" }

    private static func edit(_ change: String) -> String {
        "select events.edit(id, 'anna', \(change)) from events.event"
    }

    private static func host(_ function: String) -> String { "select events.\(function)(id, 'anna') from events.event" }

    private static let leave = "select status from events.event, events.leave(id, 'ben', with_photos => true)"
}
