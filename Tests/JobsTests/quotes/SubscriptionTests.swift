import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Subscriptions to the daily quote") struct SubscriptionTests {
    @Test("Q4: subscribing again changes nothing, not even while the push is due; another time moves it")
    func again() async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            let local = LocalTime("Europe/Paris", "08:00")
            try await database.subscribe("anna", local, at: "2026-11-24 06:00+00")
            let before = try await database.lines("select * from quotes.subscription")
            try await database.subscribe("anna", local, at: "2026-11-24 06:30+00")
            try await database.subscribe("anna", local, at: "2026-11-24 07:00:03+00")
            #expect(try await database.lines("select * from quotes.subscription") == before)
            // It is due: a change to an earlier time leaves the day its push, one to a later time moves it.
            try await database.subscribe("anna", LocalTime("Europe/Paris", "07:00"), at: "2026-11-24 07:00:04+00")
            try await database.subscribe("ben", local, at: "2026-11-24 06:00+00")
            try await database.subscribe("ben", LocalTime("Europe/Paris", "21:00"), at: "2026-11-24 07:00:04+00")
            #expect(try await database.pushes(at: "2026-11-24 07:00:05+00") == ["anna 2026-11-24"])
            #expect(
                try await database.lines(
                    "select user_id, next_at at time zone 'UTC' from quotes.subscription order by user_id")
                    == ["anna|2026-11-25T06:00:00", "ben|2026-11-24T20:00:00"])
        }
    }

    @Test("Q4: who stops it gets no push that is due, and who starts again on the same day no second one")
    func stops() async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            let local = LocalTime("UTC", "08:00")
            for user in ["anna", "ben"] { try await database.subscribe(user, local, at: "2026-11-24 00:00+00") }
            #expect(
                try await database.lines("select quotes.unsubscribe('anna'), quotes.unsubscribe('anna')") == [
                    "true|false"
                ])
            #expect(try await database.lines("select * from quotes.subscription_of('anna')") == [])
            #expect(try await database.pushes(at: "2026-11-24 08:00:05+00") == ["ben 2026-11-24"])
            try await database.execute("select quotes.unsubscribe('ben')")
            for user in ["anna", "ben"] {
                try await database.subscribe(user, LocalTime("UTC", "08:02"), at: "2026-11-24 08:01+00")
            }
            #expect(try await database.pushes(at: "2026-11-24 08:02:05+00") == ["anna 2026-11-24"])
            #expect(
                try await database.pushes(at: "2026-11-25 08:02:05+00") == ["anna 2026-11-25", "ben 2026-11-25"])
        }
    }

    @Test("Q4: a batch doesn't wait for a user who is about to stop, and pushes nothing to that user")
    func stopsDuringBatch() async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            try await database.makeSubscribers(2, dueOn: "2026-11-24")
            try await database.transaction { stop in
                try await stop.execute("select quotes.unsubscribe('user-1')")
                // The batch doesn't wait for the stop.
                #expect(try await database.pushes(at: "2026-11-24 08:00:05+00") == ["user-2 2026-11-24"])
            }
            #expect(try await database.pushes(at: "2026-11-24 08:00:20+00") == [])
            #expect(try await database.pushes(at: "2026-11-25 08:00:20+00") == ["user-2 2026-11-25"])
        }
    }

    @Test("Q4: who stops it while its push waits in notify is not pushed to, also if the batch has not committed yet")
    func withdraws() async throws {
        try await withAppDatabase { database, _ in
            // A day to come, since notify refuses a push whose day is over.
            let day = try await database.lines("select (now() at time zone 'UTC')::date + 1")[0]
            try await database.makeSubscribers(150, dueOn: day)
            for user in ["user-1", "user-2", "user-3"] { try await database.register(user, "fcm", "token-of-\(user)") }
            let stopping: Task<Void, any Error> = try await database.transaction { batch in
                try await batch.execute(
                    Statement("select quotes.send_due_v1(at_time => ($1 || ' 08:00:05+00')::timestamptz)", [day]))
                let stopping = Task { _ = try await database.execute("select quotes.unsubscribe('user-1')") }
                // It waits for the batch.
                #expect(
                    try await database.becomes(
                        """
                        exists (
                            select from pg_stat_activity
                            where datname = current_database() and wait_event_type = 'Lock')
                        """))
                return stopping
            }
            try await stopping.value
            try await database.execute("select quotes.unsubscribe('user-2')")
            // Another time leaves today's push as it is.
            try await database.execute("select quotes.subscribe('user-3', '09:00', 'UTC')")
            #expect(
                try await database.lines("select user_id, state from notify.delivery order by user_id")
                    == ["user-1|withdrawn", "user-2|withdrawn", "user-3|waiting"])
        }
    }

    @Test(
        "Q4: journeys and changes right after and before pushes give no local day two pushes, and no subscriber none",
        arguments: [0.25, 0.5, 0.75])
    func journeys(seed: Double) async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            try await database.execute("create table public.local (user_id text, at timestamptz, zone text)")
            try await database.execute(Statement(Self.travel(seed: seed)))
            #expect(try await database.number("select count(*) from public.sent") > 300)
            #expect(
                try await database.number("select count(*) - count(distinct (user_id, day)) from public.sent") == 0)
            // Neither on the clock of the zone in which a subscriber is.
            let doubles = try await database.lines(
                """
                select user_id, at, zone, before
                from (
                    select user_id, at, zone, lag(at) over (partition by user_id order by at) as before
                    from public.local
                ) as pushed
                where (at at time zone zone)::date <= (before at time zone zone)::date
                """)
            #expect(doubles == [])
            // From one side of the date line to the other, and from early to late.
            let longest = try await database.number(
                """
                select max(extract(epoch from gap) / 3600)::int
                from (
                    select at - lag(at) over (partition by user_id order by at) as gap from public.local
                ) as gaps
                """)
            #expect(longest < 96)
        }
    }

    /// Four weeks of 20 users, who often change their zone and time around a push.
    private static func travel(seed: Double) -> String {
        """
        do $$
        declare
            zones text[] := '{
                Europe/Paris,Pacific/Auckland,America/Los_Angeles,Pacific/Kiritimati,Pacific/Pago_Pago,Asia/Kathmandu,
                America/Nuuk}';
            at_time timestamptz := '2026-10-20 00:00+00';
            who record;
        begin
            perform setseed(\(seed));
            perform quotes.set_subscription('user-' || n, '09:00', zones[1 + n % 7], at_time)
            from generate_series(1, 20) as n;
            loop
                select min(next_at) + random() * interval '60 s' into at_time from quotes.subscription;
                exit when at_time > '2026-11-15 00:00+00';
                for who in select user_id from quotes.subscription where next_at <= at_time and random() < 0.3 loop
                    perform quotes.set_subscription(
                        who.user_id, make_time((random() * 22)::int, 0, 0), zones[1 + (random() * 6)::int], at_time);
                end loop;
                perform quotes.send_due_v1(at_time => at_time);
                for who in update public.sent set at = at_time where at is null returning user_id loop
                    insert into public.local
                    select who.user_id, at_time, time_zone from quotes.subscription where user_id = who.user_id;
                    continue when random() < 0.4;
                    if random() < 0.3 then
                        perform quotes.unsubscribe(who.user_id);
                    end if;
                    perform quotes.set_subscription(
                        who.user_id, make_time((random() * 22)::int, 0, 0), zones[1 + (random() * 6)::int],
                        at_time + interval '1 min');
                end loop;
            end loop;
        end
        $$
        """
    }

    @Test("an unknown zone, a time that no clock shows and a user without a name are refused with the reason")
    func refuses() async throws {
        try await withAppDatabase { database, _ in
            for (call, reason) in [
                ("'anna', '08:00', 'Mars/Olympus'", "expected an IANA name such as Europe/Paris, got Mars/Olympus"),
                ("'anna', '08:00', 'europe/paris'", "got europe/paris"), ("'anna', '08:00', 'FOO+3'", "got FOO+3"),
                ("'anna', '08:00', null", "got nothing"), ("'anna', '24:00', 'UTC'", "expected 00:00 to 23:59:59"),
                ("'anna', null, 'UTC'", "got null"), ("'', '08:00', 'UTC'", "expected 1 to 200 characters, got 0"),
                ("null, '08:00', 'UTC'", "got null"), ("repeat('a', 201), '08:00', 'UTC'", "got 201"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select quotes.subscribe(\(call))"))
                }
                #expect(error?.sqlState == "ER422", "\(call)")
                #expect(error?.detail.contains(reason) == true, "\(call): \(error?.detail ?? "")")
            }
            try await database.execute("select quotes.subscribe('anna', '08:00:07.9', 'Etc/GMT+5')")
            #expect(
                try await database.lines("select local_time, time_zone from quotes.subscription_of('anna')")
                    == ["08:00:07|Etc/GMT+5"])
        }
    }

    @Test("a user's export has the subscription, and nothing of it is left after an erasure")
    func erases() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute(
                "select quotes.subscribe(name, '08:00', 'UTC') from unnest('{anna,ben}'::text[]) as name")
            try await database.execute("select quotes.unsubscribe('anna')")
            #expect(
                try await database.lines("select quotes.export_person('anna') #>> '{subscription,time_zone}'") == [
                    "UTC"
                ])
            #expect(try await database.number("select quotes.erase_person('anna')") == 1)
            #expect(try await database.number("select quotes.erase_person('anna')") == 0)
            #expect(try await database.lines("select quotes.export_person('anna')") == ["{}"])
            #expect(try await database.lines("select user_id from quotes.subscription") == ["ben"])
        }
    }
}
