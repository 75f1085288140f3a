import Foundation

/// What operators did, newest first.
struct AuditPage {
    struct Row: Decodable {
        let id: Int
        let doneAt: Moment?
        let who: String
        let actingAs: String?
        let applicationName: String?
        let action: String
        let target: String?
        let reason: String?
        let jobs: Int
        let firstJobs: [Int]?
        let person: String?
        let request: String?
        let undoUntil: Moment?
    }

    struct Entry {
        let done: ShownTime?
        let who: String
        /// The login, where it acted for a person.
        let login: String?
        let action: String
        let target: String?
        let reason: String?
        let jobCount: String?
        let firstJobs: [Int]
        let request: String?
        /// Where its undo is shown and done; nil if there is none.
        let undoLink: String?
        let id: Int

        init(_ row: Row, now: Date) {
            done = ShownTime(row.doneAt, now: now)
            who = row.person ?? row.who
            login = row.person == nil ? nil : row.who
            action = row.action
            target = row.target
            reason = row.reason
            jobCount = row.jobs > 3 ? Amount.count(row.jobs) : nil
            firstJobs = row.firstJobs ?? []
            request = row.request
            undoLink = row.undoUntil?.date.flatMap { $0 > now ? "/audit/\(row.id)/undo" : nil }
            id = row.id
        }
    }

    let entries: [Entry]
    let isEmpty: Bool
    let older: String?
    let newest: String?

    init(_ rows: [Row], isFirst: Bool, now: Date) {
        entries = rows.prefix(Self.pageLength).map { Entry($0, now: now) }
        isEmpty = rows.isEmpty
        older =
            rows.count > Self.pageLength ? "/audit?before=\(rows[Self.pageLength - 1].id)" : nil
        newest = isFirst ? nil : "/audit"
    }

    static let pageLength = 50

    static func query(where condition: String) -> String {
        """
        select id, done_at, who, acting_as, application_name, action,
            case when errand_internal.sees_content() then left(errand.mask_secrets(target)::text, 300) end as target, reason, jobs,
            job_ids[1:3] as first_jobs, person, request, undo_until
        from errand.audit
        where \(condition)
        order by id desc
        """
    }
}

extension Dashboard {
    func audit(_ visit: Visit) async throws -> Reply {
        let before = visit.query["before"].flatMap { Int64($0) }
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    AuditPage.query(where: "($1::bigint is null or id < $1)") + " limit \(AuditPage.pageLength + 1)",
                    [before])
            ])
        let rows = try results.rows(0, of: AuditPage.Row.self)
        return page(
            "audit", "Audit", section: "Audit", visit, results,
            AuditPage(rows, isFirst: before == nil, now: results.now))
    }
}
