import Foundation

/// The schedules with their past and next ticks.
struct Schedules {
    struct Row: Decodable {
        let name: String
        let cron: String
        let timeZone: String
        let kind: String
        let lastTick: Moment?
        let lastOutcome: String?
        let lastJobId: Int?
        let nextTick: Moment?
        let problem: String?
        let pausedAt: Moment?
        let pausedReason: String?
        let past: [PastTick]
        let coming: [Moment]
    }

    struct PastTick: Decodable {
        let tick: Moment
        let outcome: String
    }

    struct Schedule {
        let name: String
        let cron: String
        let timeZone: String
        let kind: String
        let last: ShownTime?
        let lastOutcome: String?
        let lastJob: Int?
        let next: ShownTime?
        let problem: String?
        let isPaused: Bool
        let isTicking: Bool
        let pausedReason: String?
        let strip: TickStrip?
    }

    let schedules: [Schedule]
    let isEmpty: Bool

    init(_ rows: [Row], now: Date) {
        schedules = rows.map { row in
            Schedule(
                name: row.name, cron: row.cron, timeZone: row.timeZone, kind: row.kind,
                last: ShownTime(row.lastTick, now: now), lastOutcome: row.lastOutcome, lastJob: row.lastJobId,
                next: ShownTime(row.nextTick, now: now), problem: row.problem, isPaused: row.pausedAt != nil,
                isTicking: row.pausedAt == nil, pausedReason: row.pausedReason,
                strip: TickStrip(past: row.past, coming: row.coming, now: now))
        }
        isEmpty = rows.isEmpty
    }
}

/// Past ticks on the left of now, next ones on the right, each side to its own scale.
struct TickStrip: Equatable {
    struct Mark: Equatable {
        /// In a box of 200, where 100 is now.
        let x: String
        let tone: String
        let title: String
    }

    let marks: [Mark]
    let summary: String

    init?(past: [Schedules.PastTick], coming: [Moment], now: Date) {
        let before = past.compactMap { tick in tick.tick.date.map { ($0, tick.outcome) } }
        let after = coming.compactMap(\.date)
        guard !before.isEmpty || !after.isEmpty else { return nil }
        let back = max(1, before.map { now.timeIntervalSince($0.0) }.max() ?? 1)
        let ahead = max(1, after.map { $0.timeIntervalSince(now) }.max() ?? 1)
        marks =
            before.map { date, outcome in
                let age = now.timeIntervalSince(date)
                return Mark(
                    x: String(format: "%.1f", 98 - 95 * age / back), tone: Self.tone(outcome),
                    title: "\(outcome), \(ShownTime.relative(-age))")
            }
            + after.map { date in
                let wait = date.timeIntervalSince(now)
                return Mark(
                    x: String(format: "%.1f", 102 + 95 * wait / ahead), tone: "coming",
                    title: ShownTime.relative(wait))
            }
        let late = before.filter { Self.tone($0.1) != "good" }.count
        summary =
            "\(before.count) past ticks\(late == 0 ? ", all in time" : ", \(late) of them not in time"); "
            + "\(after.count) next ticks, the last \(after.max().map { ShownTime.relative($0.timeIntervalSince(now)) } ?? "unknown")"
    }

    private static func tone(_ outcome: String) -> String {
        switch outcome {
        case "enqueued", "by hand": "good"
        case "late", "coalesced": "held"
        default: "quiet"
        }
    }
}

extension Dashboard {
    /// The most schedules on a page: their next ticks are computed anew each time.
    private static let shownSchedules = 50

    func schedules(_ visit: Visit) async throws -> Reply {
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    """
                    select existing.name, existing.cron, existing.time_zone, existing.kind, existing.last_tick,
                        existing.last_outcome,
                        existing.last_job_id, existing.next_tick, existing.problem, existing.paused_at,
                        existing.paused_reason,
                        (
                            select coalesce(jsonb_agg(jsonb_build_object('tick', tick, 'outcome', outcome)), '[]')
                            from (
                                select tick, outcome
                                from errand.schedule_ticks
                                where schedule = existing.name
                                order by tick desc
                                limit 12) as past
                        ) as past,
                        (
                            select coalesce(jsonb_agg(tick), '[]')
                            from errand.preview_schedule(existing.name, 6)
                            where existing.paused_at is null
                        ) as coming
                    from (
                        select *
                        from errand.schedules
                        where name > $2
                        order by problem is null, paused_at is null, name
                        limit $1) as existing
                    """, [Int32(Self.shownSchedules), visit.query["after"] ?? ""])
            ])
        let rows = try results.rows(0, of: Schedules.Row.self)
        return page(
            "schedules", "Schedules", section: "Schedules", visit, results, isLive: true,
            Schedules(rows, now: results.now))
    }

    func changeSchedule(_ visit: Visit) async throws -> Reply {
        let name = visit.form["schedule"] ?? ""
        let reason = visit.form["reason"]
        let action = visit.form["action"] ?? ""
        switch action {
        case "run": try await act(visit, "select errand.run_schedule($1, $2)::text", [name, reason])
        case "pause": try await act(visit, "select errand.pause_schedule($1, $2)::text", [name, reason])
        case "resume": try await act(visit, "select errand.resume_schedule($1)::text", [name])
        default: throw Problem.notFound
        }
        return .redirect("/schedules?done=\(action)")
    }
}
