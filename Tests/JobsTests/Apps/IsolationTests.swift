import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Isolation levels") struct IsolationTests {
    /// Two statements, the second of which runs in a transaction whose snapshot is older than the first one's commit.
    struct Race: Sendable {
        let name: String
        /// The initial rows.
        let given: [String]
        let first: String
        /// Selects a text.
        let second: String
        /// The result of the second statement, or its SQLSTATE, at READ COMMITTED.
        let expected: String
        /// A condition that holds afterwards at every isolation level.
        let invariant: String

        init(_ name: String, given: [String], _ first: String, _ second: String, _ expected: String, holds: String) {
            (self.name, self.given, self.first, self.second) = (name, given, first, second)
            (self.expected, invariant) = (expected, holds)
        }
    }

    static let races = [
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
        Race(
            "wrong codes of one user", given: (1...9).map { _ in redeemWrong }, redeemWrong, redeemWrong,
            "too_many_tries", holds: "(select wrong_tries from pairing.person where user_id = 'eve') = 10"),
        Race(
            "one code, redeemed twice", given: [invite], redeem(1, by: "ben"), redeem(1, by: "carl"), "already_used",
            holds: "(select count(*) from pairing.pair) = 1 and \(noStaleInvite)"),
        Race(
            "two codes of one user", given: [invite, invite], redeem(1, by: "ben"), redeem(2, by: "carl"), "withdrawn",
            holds: "(select count(*) from pairing.pair) = 1 and \(noStaleInvite)"),
        Race(
            "a code of a user who is in a pair", given: [invite], redeem(1, by: "ben"), invite, "ER409",
            holds: noStaleInvite),
        Race(
            "a code that is made while another is redeemed", given: [invite], invite, redeem(1, by: "ben"), "paired",
            holds: noStaleInvite),
        Race(
            "an original that is submitted again while it is removed", given: [compressed], delivered,
            "select media.submit('u/1.jpg')::text", "ER409", holds: "(select count(*) from media.photo) = 1"),
        Race(
            "a photo that is removed while its original is submitted again", given: [compressed, delivered, unlisted],
            "select media.submit('u/1.jpg')",
            "select media.remove(id)::text from media.photo where state = 'compressed'",
            "true", holds: "not exists (select from media.removal where key = 'u/1.jpg')"),
        Race(
            "an update after an end",
            given: ["select activity.start('ben', 'Anna', 'Hello', token => repeat('ab', 32))"],
            "select activity.end_now(id) from activity.activity",
            "select reason from activity.activity, activity.update(id, 'Late')", "ending",
            holds: "(select message from activity.activity) = 'Hello'"),
        Race(
            "a daily push that is moved right after a push",
            given: [
                "select quotes.set_subscription('anna', '08:00', 'UTC', '2026-11-24 00:00+00')",
                "update quotes.subscription set next_at = now(), next_day = (now() at time zone 'UTC')::date",
            ],
            "select pushed from quotes.send_due_v1()",
            "select (quotes.subscribe('anna', '23:59:59', 'UTC') at time zone 'UTC')::date - last_day || ' day'"
                + " from quotes.subscription", "1 day",
            holds: "(select next_day > last_day from quotes.subscription)"),
        // The last one: it retires nearly all quotes.
        Race(
            "the last two quotes",
            given: [
                """
                update quotes.quote set retired_at = now()
                where id not in (select id from quotes.quote order by id limit 2)
                """, "select quotes.rotate_v1()",
            ],
            retire("min"), retire("max"), "ER409",
            holds: "(select count(*) from quotes.quote where retired_at is null) = 1"),
    ]

    @Test(
        "E4, P2: no limit is broken by a transaction with an older snapshot: it is told, or fails with 40001",
        arguments: ["read committed", "repeatable read", "serializable"])
    func race(level: String) async throws {
        try await withAppDatabase { database, _ in
            let tables = try await database.emptyTables()
            for race in Self.races {
                try await expect(race, at: level, in: database)
                try await database.empty(tables)
            }
        }
    }

    private func expect(_ race: Race, at level: String, in database: Database) async throws {
        for statement in race.given { try await database.execute(Statement(statement)) }
        let begin = Statement("set transaction isolation level \(level)")
        var outcome: String?
        do {
            outcome = try await database.transaction { transaction in
                try await transaction.execute(begin)
                // This takes its snapshot.
                try await transaction.execute(
                    "select count(*) from events.event, pairing.person, quotes.quote, media.photo")
                try await database.transaction { other in
                    try await other.execute(begin)
                    try await other.execute(Statement(race.first))
                }
                return try await transaction.query(Statement(race.second)).scalar(String?.self)
            }
        } catch let error as PostgresError {
            outcome = error.sqlState
        }
        let allowed = level == "read committed" ? [race.expected] : [race.expected, "40001"]
        #expect(allowed.contains(outcome ?? ""), "\(race.name): \(outcome ?? "null")")
        let holds = try await database.query(Statement("select \(race.invariant)")).scalar(Bool.self)
        #expect(holds, "\(race.name)")
    }
}

extension Database {
    /// The tables of a new database without rows.
    fileprivate func emptyTables() async throws -> [String] {
        let tables = try await query(
            """
            select oid::regclass::text
            from pg_class
            where relkind in ('r', 'p') and not relispartition
                and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
            """
        ).column(0, as: String.self)
        let all = tables.map { "select '\($0)' where not exists (select from \($0))" }
        return try await query(Statement(all.joined(separator: " union all "))).column(0, as: String.self)
    }

    /// Deletes all rows of these tables, without their triggers: faster than another database.
    fileprivate func empty(_ tables: [String]) async throws {
        let filled = tables.map { "select '\($0)' where exists (select from \($0))" }
        let names = try await query(Statement(filled.joined(separator: " union all "))).column(0, as: String.self)
        try await transaction { transaction in
            try await transaction.execute("set local session_replication_role = replica")
            for name in names { try await transaction.execute(Statement("delete from \(name)")) }
        }
    }
}

// MARK: - Statements
extension IsolationTests {
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

    private static let redeemWrong = "select status from pairing.redeem_invite('AAAAAA', 'eve')"

    private static let invite = "select code from pairing.create_invite('anna')"

    /// Redeems the code that anna has made as her first, second and so on.
    private static func redeem(_ number: Int, by user: String) -> String {
        """
        select status from pairing.redeem_invite(
            (select code from pairing.invite where inviter = 'anna' order by id limit 1 offset \(number - 1)), '\(user)')
        """
    }

    private static let noStaleInvite = """
        not exists (
            select from pairing.invite join pairing.person on user_id = inviter
            where state = 'live' and pair_id is not null)
        """

    private static let compressed = """
        select media.compressed_v1(photo, 'photos/1.jpg', '{}', '\\x00') from media.submit('u/1.jpg') as photo
        """

    private static let delivered = "select media.delivered_v1(id, key) from media.upload"

    private static let unlisted = "delete from media.removal"

    private static func retire(_ which: String) -> String {
        "select quotes.retire(\(which)(id), 'a test')::text from quotes.quote where retired_at is null"
    }
}
