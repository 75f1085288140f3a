import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Event reveal") struct EventRevealTests {
    @Test("E3: before the reveal a participant sees only the own photos, and afterwards all; others see none")
    func sees() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(reveal: 3600, guests: ["ben", "carl"])
            for user in ["anna", "ben"] { try await database.add("\(user).jpg", to: event, by: user) }
            func seen(by user: String) async throws -> [String] {
                try await database.lines("select user_id, is_own from events.photos_of('\(event)', '\(user)')")
            }
            #expect(try await seen(by: "anna") == ["anna|true"])
            #expect(try await seen(by: "ben") == ["ben|true"])
            #expect(try await seen(by: "carl") == [])
            #expect(try await seen(by: "eve") == [])
            try await database.age(event, by: 3600)
            #expect(try await seen(by: "ben") == ["anna|false", "ben|true"])
            #expect(try await seen(by: "carl") == ["anna|false", "ben|false"])
            #expect(try await seen(by: "eve") == [])
            #expect(try await database.number("select count(*) from errand.history") == 0)
        }
    }

    @Test("E3: photos are revealed at their time of the database's clock, with no worker")
    func onTime() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent(guests: ["ben"])
            try await database.add("1.jpg", to: event)
            try await database.execute(
                "select events.edit(id, host, reveal_at => clock_timestamp() + interval '300 ms') from events.event")
            var isOver = false
            while !isOver {
                let row = try await database.query(
                    """
                    with times as materialized (select clock_timestamp() as before, reveal_at, id from events.event),
                    seen as materialized (select (select count(*) from events.photos_of(id, 'ben')) as photos from times)
                    select before >= reveal_at, photos, clock_timestamp() < reveal_at from times cross join seen
                    """
                )[0].decode(Bool.self, Int.self, Bool.self)
                isOver = row.0
                if row.0 { #expect(row.1 == 1) } else if row.2 { #expect(row.1 == 0) }
            }
        }
    }

    @Test("E3: participants are told at the time of the reveal, on all devices and in the event's room, and only once")
    func tells() async throws {
        try await withAppQueue { test in
            let database = test.database
            let event = try await database.makeEvent(reveal: 3600, guests: ["ben", "carl"])
            try await database.execute("select events.leave(id, 'carl') from events.event")
            try await database.recordTold()
            #expect(try await test.drain().outcomes == [])
            try await database.age(event, by: 3600)
            try await test.advance(by: .seconds(3600))
            #expect(try await test.drain().outcomes == [.succeeded])
            let told = [
                #"["anna","ben"]|{"event_id": "\#(event.uuidString.lowercased())"}"#,
                #"["event:\#(event.uuidString.lowercased())"]|{"event_id": "\#(event.uuidString.lowercased())"}"#,
            ]
            let seen = try await database.lines("select receivers, data from public.told order by receivers")
            #expect(seen == told)
            // A job that was enqueued by hand, or whose record was lost.
            let again = try await test.reveal(event)
            #expect(again.state == "succeeded")
            #expect(try await database.number("select count(*) from public.told") == 2)
            #expect(try await database.number("select count(*) from events.event where revealed_at >= reveal_at") == 1)
        }
    }

    @Test("E3: a push of the reveal that waits is withdrawn from who leaves, and from all with the event")
    func withdraws() async throws {
        try await withAppDatabase { database, _ in
            let waiting = "select user_id from notify.delivery where ended_at is null order by user_id"
            try await database.registerDevices(of: "anna", "ben", "carl")
            let event = try await database.makeEvent(reveal: 3600, guests: ["ben", "carl"])
            try await database.age(event, by: 3600)
            try await database.execute(Statement("select events.reveal_v1($1)", [event]))
            #expect(try await database.lines(waiting) == ["anna", "ben", "carl"])
            try await database.execute(Statement("select events.leave($1, 'ben')", [event]))
            #expect(try await database.lines(waiting) == ["anna", "carl"])
            try await database.execute(Statement("select events.delete($1, 'anna')", [event]))
            #expect(try await database.lines(waiting) == [])
        }
    }

    @Test("E3: a reveal enqueues a push for each device, and the pushes commit with its record")
    func pushes() async throws {
        try await withAppQueue { test in
            let database = test.database
            let event = try await database.makeEvent(reveal: 3600, guests: ["ben"])
            for (user, token) in [("anna", "a"), ("anna", "b"), ("ben", "c"), ("eve", "d")] {
                try await database.execute(
                    Statement("select devices.register($1, 'fcm', repeat($2, 100))", [user, token]))
            }
            try await database.age(event, by: 3600)
            let run = try await test.reveal(event)
            #expect(run.state == "succeeded")
            #expect(try await database.number("select count(*) from errand.job where queue = 'pushes'") == 3)
        }
    }

    @Test("E3: a failure to tell undoes the record, and the next attempt tells")
    func fails() async throws {
        try await withAppQueue { test in
            let database = test.database
            let event = try await database.makeEvent(reveal: 3600, guests: ["ben"])
            try await database.age(event, by: 3600)
            try await database.recordTold(refusing: true)
            let failed = try await test.reveal(event)
            #expect(failed.state == "scheduled")
            #expect(try await database.number("select count(*) from events.event where revealed_at is null") == 1)
            try await database.recordTold()
            let again = try await test.reveal(event)
            #expect(again.state == "succeeded")
            #expect(try await database.number("select count(*) from public.told") == 2)
        }
    }

    @Test("E3: the job moves with the reveal, goes with the event, and waits for a reveal that was moved meanwhile")
    func moves() async throws {
        try await withAppQueue { test in
            let database = test.database
            let event = try await database.makeEvent(reveal: 3600)
            func job() async throws -> [String] {
                try await database.lines(
                    """
                    select state, reveal_at = run_at
                    from errand.job
                    join events.event on unique_key = 'event_reveal/' || event.id
                    """)
            }
            func edit(_ change: String) async throws -> [String] {
                try await database.lines("select events.edit(id, host, \(change)) from events.event")
            }
            #expect(try await job() == ["scheduled|true"])
            #expect(try await edit("reveal_at => now() + interval '2 h'") == ["edited"])
            #expect(try await job() == ["scheduled|true"])
            let early = try await test.reveal(event)
            #expect(early.state == "scheduled")
            #expect(try await edit("reveal_at => now()") == ["edited"])
            #expect(
                try await database.lines("select state from errand.job where unique_key is not null") == ["available"])
            #expect(try await edit("reveal_at => now() + interval '1 h'") == ["revealed"])
            #expect(try await edit("title => 'Revealed'") == ["edited"])
            try await database.execute("select events.delete(id, host) from events.event")
            #expect(
                try await database.lines(
                    "select state, reason from errand.history where unique_key like 'event_reveal/%'")
                    == ["cancelled|its host has deleted the event"])
            let gone = try await test.reveal(event)
            #expect(gone.state == "cancelled")
        }
    }

    @Test("an early end reveals what was planned for the end, or would come after the purge, and no more")
    func ends() async throws {
        try await withAppDatabase { database, _ in
            for (title, reveal) in [("at the end", "1 day"), ("later", "2 days"), ("last", "8 days 12 h")] {
                try await database.execute(
                    Statement(
                        """
                        select events.create('anna', $1, ends_at => now() + interval '1 day',
                            reveal_at => now() + interval '\(reveal)')
                        """, [title]))
            }
            try await database.execute("select events.end_now(id, host) from events.event")
            #expect(
                try await database.lines("select title, is_revealed from events.event_status order by title")
                    == ["at the end|true", "last|true", "later|false"])
            #expect(
                try await database.number(
                    "select count(*) from errand.job where kind = 'event_reveal' and state = 'available'") == 2)
        }
    }

    @Test("E3: with 10,000 other jobs waiting, participants are told of the reveal before those, and within 5 s")
    func behindOthers() async throws {
        try await withService { service in
            let database = service.database
            // Two run at a time, for 50 s in all.
            try await database.execute(
                """
                select errand.enqueue_many(jsonb_agg('{"kind": "noop", "payload": {"sleep_ms": 10}}'::jsonb))
                from generate_series(1, 10000)
                """)
            try await database.execute(
                "select events.create('anna', 'Party', reveal_at => clock_timestamp() + interval '1 s')")
            #expect(try await database.becomes("exists (select from events.event where revealed_at is not null)"))
            let waiting = "select count(*) from errand.job where kind = 'noop' and state = 'available'"
            #expect(try await database.number(waiting) > 0)
            // The promise is one of a machine that does nothing else.
            let limit = Hardness.isFull ? "5 s" : "1 min"
            #expect(
                try await database.lines(
                    "select revealed_at between reveal_at and reveal_at + interval '\(limit)' from events.event")
                    == ["true"])
        }
    }

    @Test("a reveal before the start of an event, or not before its purge, is refused")
    func bounds() async throws {
        try await withAppDatabase { database, _ in
            try await database.makeEvent(reveal: 3600)
            for call in [
                "events.create('anna', 'Party', reveal_at => now() - interval '1 s')",
                "events.create('anna', 'Party', reveal_at => now() + interval '16 days 1 s')",
                "events.create('anna', 'Party', reveal_at => 'infinity')",
                "events.edit((select id from events.event), 'anna', reveal_at => '-infinity')",
                "events.edit((select id from events.event), 'anna', starts_at => now() + interval '2 h')",
                "events.photos_of((select id from events.event), null)",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select \(call)"))
                }
                #expect(error?.sqlState == "ER422", "\(call)")
            }
        }
    }
}

extension Database {
    /// Replaces what tells participants by functions that record it, or that fail.
    fileprivate func recordTold(refusing: Bool = false) async throws {
        // A unique key that is there already is retried.
        let refusal = refusing ? "insert into errand.home select * from errand.home;" : ""
        for statement in [
            "create table if not exists public.told (receivers text[], data jsonb)",
            "grant insert on public.told to errand_owner",
            """
            create or replace function notify.send(
                user_ids text[], title text default null, body text default null, data jsonb default '{}',
                collapse text default null, not_after timestamptz default null, once text default null,
                profile text default null, words jsonb default '{}'
            ) returns int
            language sql as $$
                \(refusal)
                insert into public.told values (user_ids, data);
                select cardinality(user_ids)
            $$
            """,
            """
            create or replace function rooms.emit(
                room text, event text, data jsonb default '{}', namespace text default '/'
            ) returns void
            language sql as $$ insert into public.told values (array[room], data) $$
            """,
        ] {
            try await execute(Statement(statement))
        }
    }
}

extension TestQueue {
    /// Runs a job that was enqueued by hand, or whose record was lost.
    fileprivate func reveal(_ event: UUID) async throws -> RecordedJob {
        try await run("event_reveal", payload: JSONB(#"{"event": "\#(event.uuidString.lowercased())"}"#))
    }
}
