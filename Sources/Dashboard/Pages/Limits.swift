import Foundation

/// The limits, rates and dependencies.
struct Limits {
    struct LimitRow: Decodable {
        let what: String
        let name: String
        let setAs: String?
        let allowed: Int?
        let per: String?
        let running: Int
        let isFull: Bool?
        let parked: Int?
    }

    struct DependencyRow: Decodable {
        let name: String
        let state: String
        let openedAt: Moment?
        let openedBy: String?
        let until: Moment?
        let reason: String?
        let failures: Int
        let failedAt: Moment?
        let closedAt: Moment?
        let parked: Int
        let isMore: Bool
    }

    struct Limit {
        let what: String
        let name: String
        let allowed: String
        let running: String
        let saturation: Int?
        let isFull: Bool
        let parked: String?
    }

    struct Dependency {
        let name: String
        let state: String
        let tone: String
        let isOpen: Bool
        let isUp: Bool
        let opened: ShownTime?
        let openedBy: String?
        let until: ShownTime?
        let reason: String?
        let parked: String
        let closed: ShownTime?
    }

    let limits: [Limit]
    let hasLimits: Bool
    let dependencies: [Dependency]
    let hasDependencies: Bool

    init(_ limits: [LimitRow], _ dependencies: [DependencyRow], now: Date) {
        self.limits = limits.map { row in
            Limit(
                what: row.what, name: row.name,
                allowed: row.allowed.map { Amount.count($0) + (row.per.map { " in \($0)" } ?? " at once") } ?? "any",
                running: Amount.count(row.running),
                saturation: row.allowed.flatMap { $0 > 0 ? min(100, 100 * row.running / $0) : nil },
                isFull: row.isFull ?? false, parked: row.parked.map { Amount.count($0) })
        }
        hasLimits = !limits.isEmpty
        self.dependencies = dependencies.map { row in
            Dependency(
                name: row.name, state: row.state,
                tone: row.state == "up" ? "good" : row.state == "tried" ? "held" : "bad", isOpen: row.state != "up",
                isUp: row.state == "up", opened: ShownTime(row.openedAt, now: now), openedBy: row.openedBy,
                until: ShownTime(row.until, now: now), reason: row.reason,
                parked: Amount.count(row.parked) + (row.isMore ? " or more" : ""),
                closed: ShownTime(row.closedAt, now: now))
        }
        hasDependencies = !dependencies.isEmpty
    }
}

extension Dashboard {
    func limits(_ visit: Visit) async throws -> Reply {
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    """
                    select what, name, set_as, allowed, per::text as per, running, is_full, parked
                    from errand.limit_status
                    order by is_full desc nulls last, parked desc nulls last, what, name
                    limit 200
                    """),
                Query(
                    """
                    select name, state, opened_at, opened_by, until, reason, failures, failed_at, closed_at, parked, is_more
                    from errand.dependency_status
                    order by state = 'up', name
                    limit 200
                    """),
            ])
        let view = Limits(
            try results.rows(0, of: Limits.LimitRow.self), try results.rows(1, of: Limits.DependencyRow.self),
            now: results.now)
        return page("limits", "Limits and dependencies", section: "Limits", visit, results, isLive: true, view)
    }

    func changeLimit(_ visit: Visit) async throws -> Reply {
        let name = visit.form["name"] ?? ""
        let action = visit.form["action"] ?? ""
        switch action {
        case "open":
            try await act(
                visit, "select errand.dependency_open($1, null, $2)::text", [name, visit.form["reason"]])
        case "close": try await act(visit, "select errand.dependency_close($1)::text", [name])
        case "limit":
            try await act(
                visit, "select errand.set_limit($1, $2::text::int)::text", [name, visit.form["allowed"]])
        default: throw Problem.notFound
        }
        return .redirect("/limits?done=\(action)")
    }
}
