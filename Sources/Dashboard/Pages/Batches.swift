import Foundation
import Listings
import Postgres

/// A row of `errand.batches`.
struct BatchRow: Decodable {
    let id: Int
    let name: String
    let state: String
    let outcome: String?
    let total: Int
    let waiting: Int
    let failed: Int
    let cancelled: Int
    let obsolete: Int
    let progress: Double?
    let openedAt: Moment
    let closedAt: Moment?
    let endedAt: Moment?
}

/// A batch, as the list and its own page show it.
struct Batch {
    let id: Int
    let name: String
    /// `open`, `closed`, or how it ended.
    let state: JobState
    let total: String
    let waiting: String
    let failed: String
    /// The list of those; nil without any.
    let failedLink: String?
    /// In percent; nil without jobs.
    let progress: Int?
    /// `at least 43 %`.
    let progressText: String?
    let opened: ShownTime?
    let ended: ShownTime?

    /// - Parameter most: up to which number waiting jobs are counted, and those without success.
    init(_ row: BatchRow, most: Int, now: Date) {
        id = row.id
        name = BlockedKey.short(row.name)
        state = JobState(row.outcome ?? row.state)
        total = Amount.count(row.total)
        waiting = Amount.count(row.waiting, most: most)
        let isCut = row.failed + row.cancelled + row.obsolete >= most
        failed = Amount.count(row.failed) + (isCut && row.failed > 0 ? " or more" : "")
        failedLink = row.failed > 0 ? "/jobs?batch=\(row.id)&state=failed" : nil
        // 100 % is said of what has ended only.
        let percent = row.progress.map { Int((100 * min(1, max(0, $0))).rounded(.down)) }
        progress = percent
        progressText = percent.map { row.waiting >= most ? "at least \($0) %" : "\($0) %" }
        opened = ShownTime(row.openedAt, now: now)
        ended = ShownTime(row.endedAt, now: now)
    }
}

/// The batches, newest first.
struct Batches {
    let batches: [Batch]
    let isEmpty: Bool
    let older: String?
    let newest: String?

    init(_ rows: [BatchRow], isFirst: Bool, now: Date) {
        batches = rows.prefix(Self.pageLength).map { Batch($0, most: Self.mostCounted, now: now) }
        isEmpty = rows.isEmpty
        older = rows.count > Self.pageLength ? "/batches?before=\(rows[Self.pageLength - 1].id)" : nil
        newest = isFirst ? nil : "/batches"
    }

    static let pageLength = 25
    /// By the view, of each batch.
    private static let mostCounted = 1000
}

/// A batch with its callbacks.
struct BatchPage {
    struct MoreRow: Decodable {
        let owner: String
        let properties: String?
        let successKind: String?
        let finishKind: String?
        let failureKind: String?
        let successJobId: Int?
        let finishJobId: Int?
        let failureJobId: Int?
    }

    struct CallbackRow: Decodable {
        let id: Int
        let state: String
    }

    struct Callback {
        /// `When all have succeeded`.
        let event: String
        let kind: String
        let job: Int?
        let state: JobState?
        /// Of a callback that isn't enqueued.
        let note: String?
    }

    /// A state of its jobs, and the list of those.
    struct StateLink {
        let name: String
        let path: String
    }

    let batch: Batch
    let figures: [Overview.Figure]
    /// Where its unfinished jobs are listed.
    let unfinished: [StateLink]
    let hasUnfinished: Bool
    let facts: [JobPage.Fact]
    let callbacks: [Callback]
    let hasCallbacks: Bool
    let properties: String?
    let canCancel: Bool
    let canRetry: Bool

    init(_ row: BatchRow, _ more: MoreRow, callbacks jobs: [CallbackRow], now: Date) {
        batch = Batch(row, most: Self.mostCounted, now: now)
        let path = "/jobs?batch=\(row.id)"
        figures = Self.figures(row, batch, path: path)
        unfinished =
            row.waiting == 0
            ? []
            : ["available", "running", "scheduled", "parked"].map { StateLink(name: $0, path: "\(path)&state=\($0)") }
        hasUnfinished = !unfinished.isEmpty
        facts = Self.facts(row, more, now: now)
        callbacks = Self.callbacks(more, jobs, hasEnded: row.endedAt != nil)
        hasCallbacks = !callbacks.isEmpty
        properties = more.properties
        canCancel = row.waiting > 0
        canRetry = row.failed + row.cancelled > 0
    }

    private static func figures(_ row: BatchRow, _ batch: Batch, path: String) -> [Overview.Figure] {
        func figure(_ label: String, _ value: String, of state: String? = nil, isAlarming: Bool = false)
            -> Overview.Figure
        {
            Overview.Figure(
                label: label, value: value, note: "", isAlarming: isAlarming, path: state.map { "\(path)&state=\($0)" })
        }
        let unsuccessful = row.failed + row.cancelled + row.obsolete
        let succeeded = max(row.waiting, unsuccessful) < mostCounted ? row.total - row.waiting - unsuccessful : nil
        return [
            Overview.Figure(label: "Jobs", value: batch.total, note: "", isAlarming: false, path: path),
            figure("Waiting", batch.waiting),
            succeeded.map { figure("Succeeded", Amount.count($0), of: "succeeded") },
            figure("Failed", batch.failed, of: "failed", isAlarming: row.failed > 0),
            row.cancelled > 0 ? figure("Cancelled", Amount.count(row.cancelled), of: "cancelled") : nil,
            row.obsolete > 0 ? figure("Obsolete", Amount.count(row.obsolete), of: "obsolete") : nil,
        ].compactMap(\.self)
    }

    private static func facts(_ row: BatchRow, _ more: MoreRow, now: Date) -> [JobPage.Fact] {
        func time(_ name: String, _ moment: Moment?) -> JobPage.Fact? {
            ShownTime(moment, now: now).map { JobPage.Fact(name: name, value: "", link: nil, time: $0) }
        }
        return [
            JobPage.Fact(name: "Opened by", value: more.owner, link: nil, time: nil), time("Opened", row.openedAt),
            time("Closed", row.closedAt), time("Ended", row.endedAt),
        ].compactMap(\.self)
    }

    private static func callbacks(_ more: MoreRow, _ jobs: [CallbackRow], hasEnded: Bool) -> [Callback] {
        [
            ("When all have succeeded", more.successKind, more.successJobId),
            ("When all have ended", more.finishKind, more.finishJobId),
            ("When the first one has not succeeded", more.failureKind, more.failureJobId),
        ].compactMap { event, kind, job in
            guard kind != nil || job != nil else { return nil }
            let state = job.map { id in JobState(jobs.first { $0.id == id }?.state ?? JobState.gone) }
            return Callback(
                event: event, kind: kind ?? "", job: job, state: state,
                note: job != nil ? nil : hasEnded ? "not enqueued" : "not yet")
        }
    }

    /// By its own page.
    static let mostCounted = 10_000
}

extension Dashboard {
    func batches(_ visit: Visit) async throws -> Reply {
        let before = visit.query["before"].flatMap { Int64($0) }
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    Listing.batches.query(
                        where: "id < coalesce($1::bigint, 9223372036854775807)", limit: "\(Batches.pageLength + 1)"),
                    [before])
            ])
        return page(
            "batches", "Batches", section: "Batches", visit, results, isLive: true,
            Batches(try results.rows(0, of: BatchRow.self), isFirst: before == nil, now: results.now))
    }

    func batch(_ visit: Visit) async throws -> Reply {
        let id = try visit.number("id")
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    """
                    select batch.id, name, state, outcome, batch.total, counts.waiting, counts.failed, counts.cancelled,
                        counts.obsolete, counts.ended::float8 / nullif(counts.total, 0) as progress, opened_at, closed_at,
                        ended_at, owner, jsonb_pretty(errand.mask_secrets(properties)) as properties, success_kind,
                        finish_kind, failure_kind, success_job_id, finish_job_id, failure_job_id
                    from errand.batches as batch
                    cross join lateral errand_internal.batch_counts(batch.id, \(BatchPage.mostCounted)) as counts
                    where batch.id = $1
                    """, [id]),
                Query(
                    """
                    select job.id, job.state
                    from errand.batches as batch
                    cross join lateral (
                        select id, state
                        from errand.jobs
                        where id in (batch.success_job_id, batch.finish_job_id, batch.failure_job_id)) as job
                    where batch.id = $1
                    """, [id]),
            ])
        guard let row = try results.rows(0, of: BatchRow.self).first,
            let more = try results.rows(0, of: BatchPage.MoreRow.self).first
        else { throw Problem.noBatch(id) }
        return page(
            "batch", "Batch \(id)", section: "Batches", visit, results,
            isLive: row.state != "ended" || row.waiting > 0,
            BatchPage(row, more, callbacks: try results.rows(1, of: BatchPage.CallbackRow.self), now: results.now))
    }
}
