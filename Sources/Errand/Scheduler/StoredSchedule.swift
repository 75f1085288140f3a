import Postgres

/// A schedule as stored in the database.
struct StoredSchedule: Sendable {
    /// What its ticks are computed from.
    struct Times: Sendable, Hashable {
        let cron: String?
        let everyMicroseconds: Int64?
        let timeZone: String
    }

    let name: String
    let version: Int64
    let lastTick: Timestamp
    let nextTick: Timestamp?
    let isPaused: Bool
    let times: Times
    let catchUp: CatchUp
    let problem: String?

    static let all: Statement = "select * from errand_internal.schedules_v1()"

    static func read(_ rows: Rows) throws -> [StoredSchedule] {
        try rows.map { row in
            let (_, name, version, last, next, isPaused, cron, every, zone, missed, lateness, catchUp, problem) =
                try row.decode(
                    Timestamp.self, String.self, Int64.self, Timestamp.self, Timestamp?.self, Bool.self, String?.self,
                    Int64?.self, String.self, String.self, Int64.self, Int.self, String?.self)
            return StoredSchedule(
                name: name, version: version, lastTick: last, nextTick: next, isPaused: isPaused,
                times: Times(cron: cron, everyMicroseconds: every, timeZone: zone),
                catchUp: CatchUp(
                    missed: MissedTicks(rawValue: missed) ?? .latest, maxLateness: .microseconds(lateness),
                    maxCatchUp: catchUp),
                problem: problem)
        }
    }
}

extension Schedule {
    /// Reads the times of a stored schedule. Costs some 50 µs for the time zone: keep it.
    ///
    /// - Throws: ``ScheduleError`` for a malformed cron expression or an unknown time zone.
    init(_ times: StoredSchedule.Times) throws(ScheduleError) {
        if let every = times.everyMicroseconds {
            self = .every(.microseconds(every))
        } else {
            self = try Self(times.cron ?? "", timeZone: times.timeZone)
        }
    }
}
