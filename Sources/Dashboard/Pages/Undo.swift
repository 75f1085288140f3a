import Foundation
import Postgres

/// What an undo of an action would do.
struct UndoPlan {
    struct Row: Decodable {
        let jobId: Int?
        let setting: String?
        let undone: Bool
        let was: String?
        let now: String?
        let note: String?
        /// How many there are with the same `undone`.
        let alike: Int
    }

    struct Change {
        let job: Int?
        let setting: String?
        let was: String
        let now: String
        let note: String?
    }

    let id: Int64
    let entry: AuditPage.Entry
    let back: [Change]
    let hasBack: Bool
    let backCount: String
    let isBackCut: Bool
    let kept: [Change]
    let hasKept: Bool
    let keptCount: String
    let isKeptCut: Bool

    init(_ rows: [Row], of id: Int64, _ entry: AuditPage.Row, now: Date) {
        self.id = id
        self.entry = AuditPage.Entry(entry, now: now)
        func changes(_ undone: Bool) -> (shown: [Change], count: Int) {
            let alike = rows.filter { $0.undone == undone }
            let shown = alike.map {
                Change(job: $0.jobId, setting: $0.setting, was: $0.was ?? "none", now: $0.now ?? "none", note: $0.note)
            }
            return (shown, alike.first?.alike ?? 0)
        }
        let (back, kept) = (changes(true), changes(false))
        self.back = back.shown
        hasBack = back.count > 0
        backCount = back.count == 1 ? "1 change" : "\(Amount.count(back.count)) changes"
        isBackCut = back.count > back.shown.count
        self.kept = kept.shown
        hasKept = kept.count > 0
        keptCount = Amount.count(kept.count)
        isKeptCut = kept.count > kept.shown.count
    }

    /// The settings first, each with the values that differ. Those whose names look secret are masked, as in payloads.
    static func query(of id: Int64) -> Query {
        Query(
            """
            select numbered.job_id, numbered.setting, numbered.undone, numbered.note, numbered.alike,
                case when numbered.setting is null then numbered.was
                    when numbered.was is not null then left(errand.mask_secrets(differing.was)::text, 500) end as was,
                case when numbered.setting is null then numbered.now
                    when numbered.now is not null then left(errand.mask_secrets(differing.now)::text, 500) end as now
            from (
                select plan.*, count(*) over (partition by plan.undone) as alike,
                    row_number() over (partition by plan.undone order by plan.setting, plan.job_id) as nth
                from errand.undo($1, dry_run => true) as plan) as numbered
            cross join lateral (
                select
                    case when numbered.setting is not null then coalesce(numbered.was, '{}') end::jsonb as was,
                    case when numbered.setting is not null then coalesce(numbered.now, '{}') end::jsonb as now) as either
            left join lateral (
                select jsonb_object_agg(key, either.was -> key) as was, jsonb_object_agg(key, either.now -> key) as now
                from jsonb_object_keys(either.was || either.now) as key
                where coalesce(either.was -> key, 'null') <> coalesce(either.now -> key, 'null')
                    or not numbered.undone and either.was -> key <> 'null') as differing on true
            where nth <= \(mostShown)
            order by nth
            """, [id])
    }

    /// Of each sort.
    private static let mostShown = 50
}

extension Dashboard {
    func undoPlan(_ visit: Visit) async throws -> Reply {
        let id = try visit.number("id")
        let results = try await store.read(
            as: visit.caller, [Query(AuditPage.query(where: "id = $1"), [id]), UndoPlan.query(of: id)])
        guard let entry = try results.rows(0, of: AuditPage.Row.self).first else { throw Problem.notFound }
        return page(
            "undo", "Undo action \(id)", section: "Audit", visit, results,
            UndoPlan(try results.rows(1, of: UndoPlan.Row.self), of: id, entry, now: results.now))
    }

    func undo(_ visit: Visit) async throws -> Reply {
        let id = try visit.number("id")
        guard visit.form["action"] == "undo" else { throw Problem.notFound }
        let undone = try await act(
            visit, "select count(*) filter (where undone)::text from errand.undo($1, $2)",
            [id, visit.form["reason"] ?? ""])
        return .redirect("/audit?done=" + (undone == "0" ? "undo-none" : "undone-\(undone ?? "0")"))
    }
}
