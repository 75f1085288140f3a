import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Daily quote") struct DailyQuoteTests {
    /// In full ten years, and Samoa's change of the date line. In short two years with a leap day, ten of the zones
    /// whose changes follow the moon, and the change of the date line.
    static let spans: [(from: String, to: String, zones: [String]?)] =
        Hardness.isFull
        ? [("2026-01-01", "2036-01-01", nil), ("2010-01-01", "2013-01-01", nil)]
        : [
            ("2027-07-01", "2029-07-01", nil), ("2011-07-01", "2012-07-01", nil),
            ("2026-01-01", "2036-01-01", ["Africa/Casablanca"]),
        ]

    @Test("Q4: for years, each local day of 43 zones has one push, when the engine's schedules tick", arguments: spans)
    func tenYears(span: (from: String, to: String, zones: [String]?)) async throws {
        try await withAppDatabase { database, _ in
            let bounds = try await database.query(
                Statement(
                    "select ($1 || ' 00:00+00')::timestamptz, ($2 || ' 00:00+00')::timestamptz", [span.from, span.to])
            )[0].decode(Timestamp.self, Timestamp.self)
            for local in LocalTime.all where span.zones?.contains(local.zone) ?? true {
                let pushes = try await database.query(
                    Statement(
                        """
                        with recursive push as (
                            select * from quotes.next_push($2::text::time, $1, $3)
                            union all
                            select coming.*
                            from push
                            cross join lateral quotes.next_push($2::text::time, $1, push.due_at) as coming
                            where push.due_at < $4
                        )
                        select day - date '2000-01-01', due_at from push order by due_at
                        """, [local.zone, local.time, bounds.0, bounds.1])
                ).map { try $0.decode(Int.self, Timestamp.self) }
                let last = try #require(pushes.last)
                #expect(pushes.count >= 365)
                let ticks = try await database.query(
                    Statement(
                        """
                        select tick
                        from errand_internal.coming_ticks($1, null, $2, $3, 10000, through => $4)
                        """, [local.cron, local.zone, bounds.0, last.1])
                ).column(0, as: Timestamp.self)
                #expect(pushes.map(\.1) == ticks, "\(local)")
                // No day twice, and none left out but Samoa's 30 December 2011, which never was.
                let days = zip(pushes, pushes.dropFirst()).filter { $1.0 - $0.0 != 1 }.map { $0.0.0 }
                let isSamoa = local.zone == "Pacific/Apia" && span.from < "2012"
                #expect(days == (isSamoa ? [4_380] : []), "\(local)")
            }
        }
    }

    @Test(
        "Q4: where clocks change, each local day is pushed once, within 60 s, also if runs fail and clocks are set back",
        arguments: ["2026-03-05", "2026-03-26", "2026-04-21", "2026-09-03", "2026-10-22"])
    func changes(first: String) async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            for local in LocalTime.all { try await database.subscribe(local.zone, local, at: "\(first) 00:00+00") }
            try await database.execute(
                Statement(
                    """
                    do $$
                    declare
                        at_time timestamptz;
                        step int := 0;
                    begin
                        loop
                            select min(next_at) + random() * interval '60 s' into at_time from quotes.subscription;
                            exit when at_time > (date '\(first)' + 8)::timestamp at time zone 'UTC';
                            step := step + 1;
                            if step % 3 = 0 then
                                begin
                                    perform quotes.send_due_v1(at_time => at_time);
                                    raise exception using errcode = 'T0001';
                                exception when sqlstate 'T0001' then
                                    null;
                                end;
                            end if;
                            perform quotes.send_due_v1(at_time => at_time);
                            perform quotes.send_due_v1(at_time => at_time - interval '1 day');
                            perform quotes.send_due_v1(at_time => at_time);
                            update public.sent set at = at_time where at is null;
                        end loop;
                    end
                    $$
                    """))
            let wrong = try await database.lines(
                """
                select subscriber.time_zone, day, count
                from quotes.subscription as subscriber
                cross join (select date '\(first)' + n as day from generate_series(2, 6) as n) as given
                cross join lateral (
                    select count(*), min(at)
                    from public.sent
                    where sent.user_id = subscriber.user_id and sent.day = given.day
                ) as pushed
                cross join errand_internal.clock_first_shows(day + local_time, time_zone) as due_at
                where count <> 1 or min not between due_at and due_at + interval '60 s'
                """)
            #expect(wrong == [])
            #expect(
                try await database.number("select count(*) - count(distinct (user_id, day)) from public.sent") == 0)
        }
    }

    @Test("Q4: four sessions that push to the same 2,000 subscribers push to each once")
    func together() async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            try await database.makeSubscribers(2_000, dueOn: "2026-11-24")
            let pushed = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...4 {
                    group.addTask {
                        var pushed = 0
                        while try await database.number(
                            "select count(*) from quotes.subscription where next_day = '2026-11-24'") > 0
                        {
                            pushed += try await database.number(
                                "select pushed from quotes.send_due_v1(100, at_time => '2026-11-24 08:00:10+00')")
                        }
                        return pushed
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(pushed == 2_000)
            #expect(try await database.number("select count(distinct user_id) from public.sent") == 2_000)
            #expect(try await database.number("select count(*) from public.sent") == 2_000)
        }
    }

    @Test("Q4: a run pushes batch by batch, ends when its time is over, and the next one continues")
    func run() async throws {
        try await withAppQueue([DailyQuoteHandler()]) { test in
            try await test.database.recordPushes()
            try await test.database.makeSubscribers(250, dueOn: "2026-11-24")
            // Due now: the handler takes the time from the database.
            try await test.database.execute(
                """
                update quotes.subscription
                set next_at = now() - interval '1 s', next_day = (now() at time zone 'UTC')::date,
                    local_time = (now() at time zone 'UTC')::time
                """)
            let first = try await test.run(DailyQuoteHandler(batchSize: 100, time: .zero), DailyQuote())
            #expect(try first.report() == DailyQuoteHandler.Report(pushed: 100, isMoreDue: true))
            try await test.database.execute(
                """
                update quotes.subscription
                set next_at = null, next_day = null, ended_at = now() - interval '3 days'
                where user_id = 'user-250'
                """)
            let second = try await test.run(DailyQuoteHandler(batchSize: 100), DailyQuote())
            #expect(try second.report() == DailyQuoteHandler.Report(pushed: 149, pruned: 1))
            let third = try await test.run(DailyQuoteHandler(), DailyQuote())
            #expect(try third.report() == DailyQuoteHandler.Report())
            #expect(try await test.database.number("select count(distinct user_id) from public.sent") == 249)
            #expect(
                try await test.database.lines("select time_zone, subscribers from quotes.zone_status") == ["UTC|249"])
            let body = try await test.database.lines(
                "select text || ' — ' || author from quotes.of_the_day((now() at time zone 'UTC')::date)")
            #expect(try await test.database.lines("select distinct body from public.sent") == body)
        }
    }

    @Test("Q4: after a downtime each subscriber whose local day goes on gets one push, and all others the next day's")
    func downtime() async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            try await database.subscribe("morning", LocalTime("UTC", "06:00"), at: "2026-11-20 00:00+00")
            try await database.subscribe("evening", LocalTime("UTC", "22:00"), at: "2026-11-20 00:00+00")
            try await database.subscribe("tokyo", LocalTime("Asia/Tokyo", "23:00"), at: "2026-11-20 00:00+00")
            try await database.subscribe("midnight", LocalTime("UTC", "23:59"), at: "2026-11-20 00:00+00")
            // Six hours down: Tokyo's 20 November is over.
            #expect(try await database.pushes(at: "2026-11-20 20:00+00") == ["morning 2026-11-20"])
            #expect(
                try await database.lines("select distinct not_after at time zone 'UTC' from public.sent")
                    == ["2026-11-21T00:00:00"])
            #expect(try await database.pushes(at: "2026-11-20 22:00:05+00") == ["evening 2026-11-20"])
            // A push of the last minute has some minutes more.
            #expect(try await database.pushes(at: "2026-11-21 00:00:20+00") == ["midnight 2026-11-20"])
            // Three days down.
            #expect(
                try await database.pushes(at: "2026-11-24 16:00+00") == ["morning 2026-11-24"])
            #expect(try await database.pushes(at: "2026-11-24 16:00:30+00") == [])
            #expect(
                try await database.lines("select user_id, next_day from quotes.subscription order by user_id")
                    == ["evening|2026-11-24", "midnight|2026-11-24", "morning|2026-11-25", "tokyo|2026-11-25"])
        }
    }

    @Test("Q4: a clock that is set back gives no local day a second push")
    func setBack() async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            let local = LocalTime("Europe/Paris", "08:00")
            try await database.subscribe("anna", local, at: "2026-11-24 00:00+00")
            #expect(try await database.pushes(at: "2026-11-24 07:00:05+00") == ["anna 2026-11-24"])
            #expect(try await database.pushes(at: "2026-11-23 07:00:05+00") == [])
            // Neither do changes.
            try await database.subscribe("anna", LocalTime("Europe/Paris", "09:00"), at: "2026-11-23 07:01+00")
            try await database.subscribe("anna", local, at: "2026-11-23 07:02+00")
            for day in [23, 24] { #expect(try await database.pushes(at: "2026-11-\(day) 23:00+00") == []) }
            #expect(try await database.pushes(at: "2026-11-25 07:00:05+00") == ["anna 2026-11-25"])
        }
    }

    @Test("Q4: a zone that the server no longer knows counts as UTC, and stops no other subscriber's push")
    func removedZone() async throws {
        try await withAppDatabase { database, _ in
            try await database.recordPushes()
            try await database.makeSubscribers(2, dueOn: "2026-11-24")
            try await database.execute(
                "update quotes.subscription set time_zone = 'Mars/Olympus' where user_id = 'user-1'")
            #expect(
                try await database.pushes(at: "2026-11-24 08:00:05+00")
                    == ["user-1 2026-11-24", "user-2 2026-11-24"])
            #expect(
                try await database.lines("select distinct next_at at time zone 'UTC' from quotes.subscription")
                    == ["2026-11-25T08:00:00"])
        }
    }
}
