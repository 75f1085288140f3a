import Foundation
import Listings

/// What runs, waits and is wrong, at a glance.
struct Overview {
    struct HealthRow: Decodable {
        let checkName: String
        let ok: Bool
        let detail: String
        let hint: String?
    }

    struct QueueRow: Decodable {
        let queue: String
        let waiting: Int
        let running: Int
        let scheduled: Int
        let parked: Int
        let failed: Int
        let isEstimate: Bool
        let oldestDueAt: Moment?
        let workers: Int
        let succeeded5Min: Int
        let failed5Min: Int
        let retried5Min: Int
        let pausedAt: Moment?
        let pausedReason: String?

        /// Attempts that ended within 5 minutes.
        var ended: Int { succeeded5Min + failed5Min + retried5Min }
    }

    struct RateRow: Decodable {
        let queue: String
        let perMinute: Double
    }

    struct MinuteRow: Decodable {
        let queue: String
        let minutesAgo: Int
        let succeeded: Int
        let failed: Int
        let retried: Int
    }

    struct BreakerRow: Decodable {
        let name: String
        let openedAt: Moment?
        let reason: String?
        let parked: Int
        let isMore: Bool
    }

    struct LateRow: Decodable {
        let name: String
        let problem: String
        let nextTick: Moment?
    }

    struct BlockerRow: Decodable {
        let what: String
        let name: String
        let who: String
        let since: Moment?
        let detail: String
        let hint: String?
    }

    struct Figure {
        let label: String
        let value: String
        let note: String
        let isAlarming: Bool
        let path: String?
    }

    struct Queue {
        let queue: String
        let link: String
        let waiting: String
        let running: String
        let scheduled: String
        let parked: String
        let failed: String
        let failedLink: String?
        let oldest: ShownTime?
        let isLate: Bool
        let rateIn: String
        let rateOut: String
        let sparkline: Sparkline?
        let workers: String
        let hasNoWorker: Bool
        let pausedReason: String?
        let isPaused: Bool
        let isEstimate: Bool
    }

    struct Breaker {
        let name: String
        let opened: ShownTime?
        let reason: String?
        let parked: String
    }

    struct Late {
        let name: String
        let problem: String
        let due: ShownTime?
    }

    struct Blocker {
        let what: String
        let who: String
        let since: ShownTime?
        let detail: String
        let hint: String?
    }

    let problems: [HealthRow]
    let isHealthy: Bool
    let figures: [Figure]
    let queues: [Queue]
    let hasEstimates: Bool
    let workers: [Workers.Worker]
    let breakers: [Breaker]
    let late: [Late]
    let blockers: [Blocker]

    init(_ results: Results) throws {
        let now = results.now
        let health = try results.rows(0, of: HealthRow.self)
        let rows = try results.rows(2, of: QueueRow.self)
        let rates = try results.rows(3, of: RateRow.self)
        let minutes = try results.rows(4, of: MinuteRow.self)
        problems = health.filter { !$0.ok }
        isHealthy = problems.isEmpty
        queues = Self.queues(rows, rates: rates, minutes: minutes, now: now)
        hasEstimates = rows.contains(where: \.isEstimate)
        workers = try results.rows(5, of: Workers.Row.self).map { Workers.Worker($0, now: now) }
        breakers = try results.rows(6, of: BreakerRow.self).map {
            Breaker(
                name: $0.name, opened: ShownTime($0.openedAt, now: now), reason: $0.reason,
                parked: Amount.count($0.parked) + ($0.isMore ? " or more" : ""))
        }
        late = try results.rows(7, of: LateRow.self).map {
            Late(name: $0.name, problem: $0.problem, due: ShownTime($0.nextTick, now: now))
        }
        blockers = try results.rows(8, of: BlockerRow.self).map {
            Blocker(
                what: "\($0.what) \($0.name)", who: $0.who, since: ShownTime($0.since, now: now), detail: $0.detail,
                hint: $0.hint)
        }
        figures = Self.figures(rows, rates: rates, workers: try results.rows(5, of: Workers.Row.self))
    }

    static func queues(_ rows: [QueueRow], rates: [RateRow], minutes: [MinuteRow], now: Date) -> [Queue] {
        let rates = Dictionary(rates.map { ($0.queue, $0.perMinute) }) { first, _ in first }
        let minutes = Dictionary(grouping: minutes, by: \.queue)
        return rows.map { row in
            let link = "/jobs?queue=\(Dashboard.encoded(row.queue))"
            return Queue(
                queue: row.queue, link: link, waiting: Amount.count(row.waiting), running: Amount.count(row.running),
                scheduled: Amount.count(row.scheduled), parked: Amount.count(row.parked),
                failed: Amount.count(row.failed), failedLink: row.failed > 0 ? "\(link)&state=failed" : nil,
                oldest: ShownTime(row.oldestDueAt, now: now),
                isLate: row.oldestDueAt?.date.map { now.timeIntervalSince($0) > 300 } ?? false,
                rateIn: Amount.rate(rates[row.queue] ?? 0), rateOut: Amount.rate(Double(row.ended) / 5),
                sparkline: Sparkline(minutes: hour(of: minutes[row.queue] ?? [])),
                workers: Amount.count(row.workers), hasNoWorker: row.workers == 0 && row.waiting > 0,
                pausedReason: row.pausedReason, isPaused: row.pausedAt != nil, isEstimate: row.isEstimate)
        }
    }

    /// The attempts of the last 60 whole minutes, the oldest first. A minute without a row had none.
    static func hour(of rows: [MinuteRow]) -> [Int] {
        var minutes = [Int](repeating: 0, count: 60)
        for row in rows where (1...60).contains(row.minutesAgo) {
            minutes[60 - row.minutesAgo] += row.succeeded + row.failed + row.retried
        }
        return minutes
    }

    static func figures(_ queues: [QueueRow], rates: [RateRow], workers: [Workers.Row]) -> [Figure] {
        let waiting = queues.reduce(0) { $0 + $1.waiting }
        let failed = queues.reduce(0) { $0 + $1.failed }
        let live = workers.filter { !$0.isLost }
        let running = live.reduce(0) { $0 + $1.running }
        let slots = live.reduce(0) { $0 + ($1.slots ?? 0) }
        return [
            Figure(
                label: "Waiting", value: Amount.count(waiting),
                note: "\(Amount.count(queues.reduce(0) { $0 + $1.scheduled })) scheduled", isAlarming: false,
                path: "/jobs?state=available"),
            Figure(
                label: "Running", value: Amount.count(queues.reduce(0) { $0 + $1.running }),
                note: slots == 0 ? "no slots" : "\(Int(100 * running / slots)) % of \(Amount.count(slots)) slots",
                isAlarming: false, path: "/jobs?state=running"),
            Figure(
                label: "Failed", value: Amount.count(failed), note: failed == 0 ? "none to look at" : "until retried",
                isAlarming: failed > 0, path: "/failures"),
            Figure(
                label: "In a minute", value: Amount.rate(rates.reduce(0) { $0 + $1.perMinute }), note: "enqueued",
                isAlarming: false, path: nil),
            Figure(
                label: "Out a minute", value: Amount.rate(Double(queues.reduce(0) { $0 + $1.ended }) / 5),
                note: "attempts, of 5 min", isAlarming: false, path: nil),
            Figure(
                label: "Workers", value: Amount.count(live.count),
                note: live.count == workers.count ? "all alive" : "\(workers.count - live.count) lost",
                isAlarming: live.isEmpty || live.count < workers.count, path: "/workers"),
        ]
    }
}

extension Dashboard {
    /// The most queues that the page shows.
    private static let shownQueues = 50

    func overview(_ visit: Visit) async throws -> Reply {
        let results = try await store.read(
            as: visit.caller,
            [
                Query("select check_name, ok, detail, hint from errand.health()"),
                // From here on only these queues count.
                Query(
                    """
                    select set_config('errand.queues_to_show', array(select errand.busiest_queues($1))::text, true) as names
                    """, [Int32(Self.shownQueues)]),
                Query(
                    Listing.queues.query(
                        where: "queue = any (current_setting('errand.queues_to_show')::text[])",
                        order: "waiting + running desc, queue")),
                Query(
                    """
                    select queue, round(sum(per_second) * 60, 1) as per_minute
                    from errand.enqueue_rates()
                    group by queue
                    """),
                Query(
                    """
                    select queue, succeeded, failed, retried,
                        round(extract(epoch from date_trunc('minute', now()) - minute) / 60)::int as minutes_ago
                    from errand.queue_minutes(current_setting('errand.queues_to_show')::text[])
                    """),
                Workers.query(limit: 20),
                Query(
                    Listing.circuits.query(where: "state <> 'closed'", order: "opened_at", limit: "20")),
                Query(
                    Listing.schedules.query(
                        where: "problem is not null and paused_at is null", order: "next_tick", limit: "20")),
                Query("select what, name, who, since, detail, hint from errand.horizon_blockers limit 5"),
            ])
        return page(
            "overview", "Overview", section: "Overview", visit, results, isLive: true, try Overview(results))
    }

    func changeQueue(_ visit: Visit) async throws -> Reply {
        let queue = visit.form["queue"] ?? ""
        switch visit.form["action"] {
        case "pause":
            try await act(visit, "select errand.pause_queue($1, $2)::text", [queue, visit.form["reason"]])
            return .redirect("/?done=pause")
        case "resume":
            try await act(visit, "select errand.resume_queue($1, $2)::text", [queue, visit.form["reason"]])
            return .redirect("/?done=resume")
        default: throw Problem.notFound
        }
    }
}
