import Errand
import ErrandTestKit
import Foundation
import Postgres

@testable import Jobs

/// A subscriber's time zone and local time, `HH:MM`.
struct LocalTime: Sendable, CustomStringConvertible {
    let zone: String
    let time: String

    init(_ zone: String, _ time: String) { (self.zone, self.time) = (zone, time) }

    var description: String { "\(time) in \(zone)" }

    /// Times that clocks skip and repeat, midnight, its last minute, and plain ones.
    static let all = [
        LocalTime("Europe/Paris", "02:30"), LocalTime("Europe/London", "01:30"), LocalTime("Europe/Lisbon", "01:00"),
        LocalTime("Europe/Moscow", "08:00"), LocalTime("Europe/Chisinau", "02:59"),
        LocalTime("Europe/Istanbul", "00:00"),
        LocalTime("Atlantic/Azores", "00:30"), LocalTime("America/Nuuk", "23:30"),
        LocalTime("America/Scoresbysund", "23:59"),
        LocalTime("America/New_York", "01:30"), LocalTime("America/Chicago", "02:30"),
        LocalTime("America/Los_Angeles", "02:00"),
        LocalTime("America/St_Johns", "23:30"), LocalTime("Canada/Newfoundland", "00:00"),
        LocalTime("America/Havana", "00:30"),
        LocalTime("America/Santiago", "00:00"),
        LocalTime("America/Asuncion", "23:59"), LocalTime("America/Sao_Paulo", "07:45"),
        LocalTime("America/Caracas", "12:00"),
        LocalTime("America/Miquelon", "02:00"), LocalTime("Pacific/Easter", "22:30"),
        LocalTime("Pacific/Pago_Pago", "23:59"),
        LocalTime("Pacific/Kiritimati", "00:00"), LocalTime("Pacific/Apia", "03:30"),
        LocalTime("Pacific/Auckland", "02:30"),
        LocalTime("Pacific/Chatham", "02:45"), LocalTime("Pacific/Norfolk", "02:30"),
        LocalTime("Pacific/Marquesas", "09:30"),
        LocalTime("Australia/Lord_Howe", "02:15"), LocalTime("Australia/Adelaide", "02:30"),
        LocalTime("Australia/Eucla", "08:45"),
        LocalTime("Asia/Kathmandu", "09:00"), LocalTime("Asia/Kolkata", "06:30"), LocalTime("Asia/Tehran", "00:00"),
        LocalTime("Asia/Beirut", "00:30"), LocalTime("Asia/Gaza", "01:30"), LocalTime("Asia/Jerusalem", "02:30"),
        LocalTime("Asia/Pyongyang", "23:45"), LocalTime("Africa/Cairo", "00:30"),
        LocalTime("Africa/Casablanca", "02:30"),
        LocalTime("Africa/El_Aaiun", "02:59"), LocalTime("Antarctica/Troll", "02:00"), LocalTime("UTC", "00:00"),
    ]

    /// The engine's schedule that ticks at this local time.
    var cron: String {
        let parts = time.split(separator: ":").compactMap { Int($0) }
        return "\(parts[1]) \(parts[0]) * * *"
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
    func subscribe(_ user: String, _ local: LocalTime, at time: String) async throws {
        try await execute(
            Statement(
                "select quotes.set_subscription($1, $2::text::time, $3, $4::text::timestamptz)",
                [user, local.time, local.zone, time]))
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
                cross join (select ($2 || ' 08:00+00')::timestamptz as due_at) as given
                """, [count, day, zone]))
    }
}
