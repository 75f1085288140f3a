import ErrandTestKit
import Foundation
import Postgres

/// A slow reference of schedules: steps through real time and reads the local clock at each step.
///
/// It uses other parts than the database: Foundation's time zones and calendar.
struct SlowSchedule {
    /// In seconds since 1970.
    let start: Int64
    /// 1, 60, or 900 if all times and clock changes are at quarters of an hour.
    let step: Int64
    /// When the walk begins: early enough to know of a clock that was put back before the start.
    private let early: Int64
    /// The local time at each step of the walk, in seconds since 1970.
    let clock: [Int64]

    init(zone: TimeZone, from start: Int64, to end: Int64, step: Int64) {
        self.start = start
        self.step = step
        early = start - (step == 1 ? 21600 : 3 * 86400)
        clock = stride(from: early, to: end, by: Int(step)).map { time in
            time + Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time))))
        }
    }

    /// All ticks from the start up to before the end, in seconds since 1970.
    func ticks(_ fields: CronFields) -> [Int64] {
        var ticks: [Int64] = []
        // The latest local time so far.
        var highest = Int64.min
        var time = early
        for local in clock {
            if fields.hours.count == 24 {
                if time >= start, matches(local, fields) { ticks.append(time) }
            } else {
                // The local times that are new at this step: many if the clock is put forward.
                var shown = highest == .min || local < highest ? local : highest + step
                var isTick = false
                while highest < local, shown <= local {
                    isTick = isTick || (matches(shown, fields) && !isMissing(shown, seen: highest, now: local))
                    shown += step
                }
                if time >= start, isTick { ticks.append(time) }
            }
            highest = max(highest, local)
            time += step
        }
        return ticks
    }

    /// Whether the whole day of a time is between the last local time and this one.
    private func isMissing(_ local: Int64, seen: Int64, now: Int64) -> Bool {
        let day = local - ((local % 86400) + 86400) % 86400
        return seen < day && now >= day + 86400
    }

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        return calendar
    }()

    private func matches(_ local: Int64, _ fields: CronFields) -> Bool {
        let second = Int((local % 60 + 60) % 60)
        let minute = Int(((local / 60) % 60 + 60) % 60)
        let hour = Int(((local / 3600) % 24 + 24) % 24)
        // The cheap fields first, because the calendar is slow.
        guard fields.seconds.contains(second), fields.minutes.contains(minute), fields.hours.contains(hour) else {
            return false
        }
        let date = Date(timeIntervalSince1970: Double(local))
        let parts = Self.calendar.dateComponents([.day, .month, .weekday, .weekdayOrdinal], from: date)
        guard let day = parts.day, let month = parts.month, let weekday = parts.weekday.map({ $0 - 1 }),
            let ordinal = parts.weekdayOrdinal, fields.months.contains(month),
            let days = Self.calendar.range(of: .day, in: .month, for: date)
        else { return false }
        let byMonth = fields.days.contains(day) || fields.days.contains(day - days.upperBound)
        let isLastOfItsKind = !days.contains(day + 7)
        let byWeek =
            fields.weekdays.contains(weekday) || fields.weekdays.contains(10 * ordinal + weekday)
            || (isLastOfItsKind && fields.weekdays.contains(60 + weekday))
        return fields.isEitherDayEnough ? byMonth || byWeek : byMonth && byWeek
    }
}

/// The values of a cron expression's fields, as `errand_internal.cron_read` returns them.
struct CronFields: Equatable {
    let seconds: Set<Int>
    let minutes: Set<Int>
    let hours: Set<Int>
    let days: Set<Int>
    let months: Set<Int>
    let weekdays: Set<Int>
    let isEitherDayEnough: Bool

    init(_ text: String, in database: Database) async throws {
        let row = try await database.query(
            Statement(
                """
                select seconds::int8[], minutes::int8[], hours::int8[], days::int8[], months::int8[],
                    weekdays::int8[], either_day
                from errand_internal.cron_read($1)
                """, [text]))[0]
        let (seconds, minutes, hours, days, months, weekdays, isEitherDayEnough) = try row.decode(
            [Int].self, [Int].self, [Int].self, [Int].self, [Int].self, [Int].self, Bool.self)
        self.seconds = Set(seconds)
        self.minutes = Set(minutes)
        self.hours = Set(hours)
        self.days = Set(days)
        self.months = Set(months)
        self.weekdays = Set(weekdays)
        self.isEitherDayEnough = isEitherDayEnough
    }
}
