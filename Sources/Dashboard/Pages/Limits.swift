import Foundation
import Listings

/// The limits, rates, circuits, paused kinds, and keys that block.
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

    struct CircuitRow: Decodable {
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

    struct KindRow: Decodable {
        let kind: String
    }

    struct Limit {
        let what: String
        let name: String
        /// What its form changes: a limit's key or pattern, or a rate's queue.
        let key: String
        let isRate: Bool
        let isSet: Bool
        /// As its form shows it.
        let number: String?
        let per: String?
        let allowed: String
        let running: String
        let saturation: Int?
        let isFull: Bool
        let parked: String?
    }

    struct Circuit {
        let name: String
        /// Of a paused kind; empty for a circuit.
        let kind: String
        let isKind: Bool
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
    let circuits: [Circuit]
    let hasCircuits: Bool
    /// Names that the form of a pause proposes.
    let kinds: [String]
    let keys: Keys

    init(_ limits: [LimitRow], _ circuits: [CircuitRow], kinds: [KindRow], keys: Keys, now: Date) {
        self.limits = limits.map { row in
            Limit(
                what: row.what, name: row.name, key: row.setAs ?? row.name, isRate: row.what == "rate",
                isSet: row.setAs != nil, number: row.allowed.map { "\($0)" }, per: row.per,
                allowed: row.allowed.map { Amount.count($0) + (row.per.map { " in \($0)" } ?? " at once") } ?? "any",
                running: Amount.count(row.running),
                saturation: row.allowed.flatMap { $0 > 0 ? min(100, 100 * row.running / $0) : nil },
                isFull: row.isFull ?? false, parked: row.parked.map { Amount.count($0) })
        }
        hasLimits = !limits.isEmpty
        self.circuits = circuits.map { Self.circuit($0, now: now) }
        hasCircuits = !circuits.isEmpty
        self.kinds = kinds.map(\.kind)
        self.keys = keys
    }

    /// A paused kind is the circuit `kind:` and its name.
    private static func circuit(_ row: CircuitRow, now: Date) -> Circuit {
        let prefix = "kind:"
        let isKind = row.name.hasPrefix(prefix)
        let isUp = row.state == "closed"
        return Circuit(
            name: row.name, kind: isKind ? String(row.name.dropFirst(prefix.count)) : "", isKind: isKind,
            state: isKind ? isUp ? "runs" : "paused" : row.state,
            tone: isUp ? "good" : isKind || row.state == "half_open" ? "held" : "bad", isOpen: !isUp, isUp: isUp,
            opened: ShownTime(row.openedAt, now: now), openedBy: row.openedBy, until: ShownTime(row.until, now: now),
            reason: row.reason, parked: Amount.count(row.parked) + (row.isMore ? " or more" : ""),
            closed: ShownTime(row.closedAt, now: now))
    }
}

extension Dashboard {
    func limits(_ visit: Visit) async throws -> Reply {
        let results = try await store.read(
            as: visit.caller,
            [
                Query(Listing.limits.query(limit: "200")),
                Query(Listing.circuits.query(order: "state = 'closed', name", limit: "200")),
                Query("select kind from errand.kinds where queue is not null order by kind limit 200"),
                BlockedKey.query, KeyRate.query,
            ])
        let keys = Keys(
            try results.rows(3, of: BlockedKey.Row.self), try results.rows(4, of: KeyRate.Row.self), now: results.now)
        let view = Limits(
            try results.rows(0, of: Limits.LimitRow.self), try results.rows(1, of: Limits.CircuitRow.self),
            kinds: try results.rows(2, of: Limits.KindRow.self), keys: keys, now: results.now)
        return page("limits", "Limits and circuits", section: "Limits", visit, results, isLive: true, view)
    }

    /// Each change but the closing of a circuit has its reason on record.
    func changeLimit(_ visit: Visit) async throws -> Reply {
        let name = visit.form["name"] ?? ""
        let action = visit.form["action"] ?? ""
        // A missing reason is refused by the database.
        let reason = visit.form["reason"] ?? ""
        let isRemoval = action.hasPrefix("no-")
        let allowed = isRemoval ? nil : visit.form["allowed"] ?? ""
        let per = isRemoval ? nil : visit.form["per"] ?? ""
        switch action {
        case "open": try await act(visit, "select errand.circuit_open($1, $2)::text", [name, reason])
        case "close": try await act(visit, "select errand.circuit_close($1)::text", [name])
        case "pause-kind":
            try await act(
                visit, "select errand.pause_kind($1, $2, $3::text::timestamptz)::text",
                [name, reason, Self.time(visit.form["until"])])
        case "resume-kind": try await act(visit, "select errand.resume_kind($1, $2)::text", [name, reason])
        case "limit", "no-limit":
            try await act(visit, "select errand.set_limit($1, $2::text::int, $3)::text", [name, allowed, reason])
        case "rate", "no-rate":
            try await act(
                visit, "select errand.set_rate($1, $2::text::interval, $3::text::int, $4)::text",
                [name, per, allowed, reason])
        case "key-rate", "no-key-rate":
            try await act(
                visit,
                """
                select errand.set_key_rate(
                    $1, $2::text::interval, $3::text::int, coalesce($4::text::int, 1), $5)::text
                """, [name, per, allowed, visit.form["burst"], reason])
        default: throw Problem.notFound
        }
        return .redirect("/limits?done=\(action)")
    }
}
