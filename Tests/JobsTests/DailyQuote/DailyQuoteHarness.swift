import Errand
import ErrandTestKit
import Foundation
import Postgres

@testable import Jobs

/// A subscriber's time zone and local time, `HH:MM`.
struct Place: Sendable, CustomStringConvertible {
    let zone: String
    let time: String

    init(_ zone: String, _ time: String) { (self.zone, self.time) = (zone, time) }

    var description: String { "\(time) in \(zone)" }

    /// Times that clocks skip and repeat, midnight, its last minute, and plain ones.
    static let all = [
        Place("Europe/Paris", "02:30"), Place("Europe/London", "01:30"), Place("Europe/Lisbon", "01:00"),
        Place("Europe/Moscow", "08:00"), Place("Europe/Chisinau", "02:59"), Place("Europe/Istanbul", "00:00"),
        Place("Atlantic/Azores", "00:30"), Place("America/Nuuk", "23:30"), Place("America/Scoresbysund", "23:59"),
        Place("America/New_York", "01:30"), Place("America/Chicago", "02:30"), Place("America/Los_Angeles", "02:00"),
        Place("America/St_Johns", "23:30"), Place("Canada/Newfoundland", "00:00"), Place("America/Havana", "00:30"),
        Place("America/Santiago", "00:00"),
        Place("America/Asuncion", "23:59"), Place("America/Sao_Paulo", "07:45"), Place("America/Caracas", "12:00"),
        Place("America/Miquelon", "02:00"), Place("Pacific/Easter", "22:30"), Place("Pacific/Pago_Pago", "23:59"),
        Place("Pacific/Kiritimati", "00:00"), Place("Pacific/Apia", "03:30"), Place("Pacific/Auckland", "02:30"),
        Place("Pacific/Chatham", "02:45"), Place("Pacific/Norfolk", "02:30"), Place("Pacific/Marquesas", "09:30"),
        Place("Australia/Lord_Howe", "02:15"), Place("Australia/Adelaide", "02:30"), Place("Australia/Eucla", "08:45"),
        Place("Asia/Kathmandu", "09:00"), Place("Asia/Kolkata", "06:30"), Place("Asia/Tehran", "00:00"),
        Place("Asia/Beirut", "00:30"), Place("Asia/Gaza", "01:30"), Place("Asia/Jerusalem", "02:30"),
        Place("Asia/Pyongyang", "23:45"), Place("Africa/Cairo", "00:30"), Place("Africa/Casablanca", "02:30"),
        Place("Africa/El_Aaiun", "02:59"), Place("Antarctica/Troll", "02:00"), Place("UTC", "00:00"),
    ]

    /// The schedule of the engine that ticks at this local time.
    func schedule() throws -> Schedule {
        let parts = time.split(separator: ":").compactMap { Int($0) }
        return .cron(try CronExpression("\(parts[1]) \(parts[0]) * * *"), try Zone(named: zone))
    }
}

extension Database {
    /// Replaces `notify.send` by one that records each push in `public.sent`.
    func recordPushes() async throws {
        try await execute(
            """
            create table public.sent (at timestamptz, day date, not_after timestamptz, user_id text, body text)
            """)
        try await execute("grant select, insert on public.sent to errand_owner")
        try await execute(
            """
            create or replace function notify.send(
                user_ids text[], title text default null, body text default null, data jsonb default '{}',
                collapse text default null, not_after timestamptz default null, once text default null,
                profile text default null, words jsonb default '{}'
            ) returns int
            language sql security definer set search_path = pg_catalog, notify, pg_temp as $$
                insert into public.sent (day, not_after, user_id, body)
                select ($4 ->> 'day')::date, $6, id, $3 from unnest($1) as id;
                select cardinality($1)
            $$
            """)
    }

    /// A subscription that was made at this time.
    func subscribe(_ user: String, _ place: Place, at time: String) async throws {
        try await execute(
            Statement(
                "select quotes.set_subscription($1, $2::text::time, $3, $4::text::timestamptz)",
                [user, place.time, place.zone, time]))
    }

    /// Runs a batch at this time, and returns the pushes as `user day`.
    func pushes(at time: String) async throws -> [String] {
        try await execute("delete from public.sent")
        try await execute(
            Statement("select quotes.send_due_v1(at_time => $1::text::timestamptz)", [time]))
        return try await lines("select user_id || ' ' || day from public.sent order by user_id, day")
    }

    /// Subscriptions of `user-1` to `user-N` that were due at 8:00 UTC of a day.
    func makeSubscribers(_ count: Int, dueOn day: String, zone: String = "UTC") async throws {
        try await execute(
            Statement(
                """
                insert into quotes.subscription (user_id, local_time, time_zone, next_day, next_at)
                select 'user-' || n, due_at at time zone $3, $3, (due_at at time zone $3)::date, due_at
                from generate_series(1, $1::int4) as n
                cross join (select ($2 || ' 08:00+00')::timestamptz as due_at) as known
                """, [count, day, zone]))
    }
}
