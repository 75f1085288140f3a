import Foundation
import Listings
import Postgres

/// What a discard of similar failures would do.
struct DiscardPlan {
    struct Row: Decodable {
        let jobs: Int
        let beyond: Int?
    }

    let kind: String
    let queue: String
    let fingerprint: String
    let count: String
    let isEmpty: Bool
    /// How many more match than one action changes.
    let beyond: String?

    init(_ row: Row, _ group: FailureGroup) {
        kind = group.kind
        queue = group.queue
        fingerprint = group.fingerprint
        count = row.jobs == 1 ? "1 job" : "\(Amount.count(row.jobs)) jobs"
        isEmpty = row.jobs == 0
        beyond = row.beyond.flatMap { $0 > 0 ? Amount.count($0) : nil }
    }
}

/// A bulk action, which maintenance does in batches.
struct Bulk {
    struct Row: Decodable {
        let id: Int
        let action: String
        let filter: String
        let state: String
        let progress: Double
        let changed: Int
        let requestedAt: Moment?
        let reason: String
    }

    let id: Int
    let action: String
    let filter: String
    let state: String
    let tone: String
    let percent: Int
    let changed: String
    let requested: ShownTime?
    let reason: String
    let goesOn: Bool

    init(_ row: Row, now: Date) {
        id = row.id
        action = row.action == "cancel" ? "Cancel" : "Discard"
        filter = row.filter
        state = row.state
        goesOn = ["waiting", "running"].contains(row.state)
        tone = goesOn ? "busy" : row.state == "done" ? "good" : "held"
        percent = Int(100 * row.progress)
        changed = Amount.count(row.changed)
        requested = ShownTime(row.requestedAt, now: now)
        reason = row.reason
    }

    /// Those that go on, and those of the last day.
    static let query = Query(
        Listing.bulks.query(where: "ended_at is null or ended_at > now() - interval '1 day'", limit: "20"))
}

extension Dashboard {
    func discardPlan(_ visit: Visit) async throws -> Reply {
        let group = FailureGroup(visit.query)
        let results = try await store.read(
            as: visit.caller,
            [
                Query(
                    """
                    select count(*) as jobs, max(beyond) as beyond
                    from errand.discard_where($1, 'dry run', max_jobs => $2)
                    """, [try group.filter, Int32(Self.mostJobs)])
            ])
        guard let row = try results.rows(0, of: DiscardPlan.Row.self).first else { throw Problem.notFound }
        return page("discard", "Discard failures", section: "Failures", visit, results, DiscardPlan(row, group))
    }

    func discardFailures(_ visit: Visit) async throws -> Reply {
        let filter = try FailureGroup(visit.form).filter
        let reason = visit.form["reason"] ?? ""
        switch visit.form["action"] {
        case "discard":
            let discarded = try await act(
                visit, "select count(*)::text from errand.discard_where($1, $2, dry_run => false, max_jobs => $3)",
                [filter, reason, Int32(Self.mostJobs)])
            return .redirect("/failures?done=" + (discarded == "0" ? "none" : "discarded-\(discarded ?? "0")"))
        case "bulk":
            try await act(visit, "select errand.start_bulk('discard', $1, $2)::text", [filter, reason])
            return .redirect("/failures?done=bulk")
        default: throw Problem.notFound
        }
    }

    func stopBulk(_ visit: Visit) async throws -> Reply {
        guard visit.form["action"] == "stop" else { throw Problem.notFound }
        try await act(
            visit, "select errand.stop_bulk($1::text::int8, $2)::text",
            [visit.form["bulk"], visit.form["reason"] ?? ""])
        return .redirect("/failures?done=bulk-stop")
    }
}
