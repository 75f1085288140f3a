import Foundation
import Listings

/// The workers with their slots, and who is drained.
struct Workers {
    struct Row: Decodable {
        let id: Int
        let name: String
        let version: String
        let queues: [String]
        let kinds: [String]
        let running: Int
        let slots: Int?
        let startedAt: Moment?
        let heartbeatAt: Moment?
        let isLost: Bool
        let drainedAt: Moment?
        let drainedBy: String?
        let drainedReason: String?
    }

    struct Worker {
        let id: Int
        let name: String
        let version: String
        let queues: String
        let kinds: String
        let running: String
        let slots: String?
        /// Of 100, for the bar.
        let saturation: Int?
        let isFull: Bool
        let started: ShownTime?
        let heartbeat: ShownTime?
        let isLost: Bool
        let isDrained: Bool
        let isClaiming: Bool
        let drained: ShownTime?
        let drainedReason: String?

        init(_ row: Row, now: Date) {
            id = row.id
            name = row.name
            version = row.version
            queues = row.queues.joined(separator: ", ")
            kinds = Amount.count(row.kinds.count)
            running = Amount.count(row.running)
            slots = row.slots.map { Amount.count($0) }
            saturation = row.slots.flatMap { $0 > 0 ? min(100, 100 * row.running / $0) : nil }
            isFull = row.slots.map { $0 > 0 && row.running >= $0 } ?? false
            started = ShownTime(row.startedAt, now: now)
            heartbeat = ShownTime(row.heartbeatAt, now: now)
            isLost = row.isLost
            isDrained = !row.isLost && row.drainedAt != nil
            isClaiming = !row.isLost && row.drainedAt == nil
            drained = ShownTime(row.drainedAt, now: now)
            drainedReason = row.drainedReason
        }
    }

    let workers: [Worker]

    /// Those first that need somebody.
    static func query(limit: Int) -> Query {
        Query(Listing.workers.query(order: "is_lost desc, drained_at is not null desc, name", limit: "\(limit)"))
    }
}

extension Dashboard {
    func workers(_ visit: Visit) async throws -> Reply {
        let results = try await store.read(as: visit.caller, [Workers.query(limit: 500)])
        let workers = try results.rows(0, of: Workers.Row.self).map { Workers.Worker($0, now: results.now) }
        return page(
            "workers", "Workers", section: "Workers", visit, results, isLive: true, Workers(workers: workers))
    }

    func changeWorker(_ visit: Visit) async throws -> Reply {
        guard let id = visit.form["worker"].flatMap({ Int64($0) }) else { throw Problem.notFound }
        switch visit.form["action"] {
        case "drain":
            try await act(visit, "select worker from errand.drain_worker($1, $2)", [id, visit.form["reason"]])
            return .redirect("/workers?done=drain")
        case "undrain":
            try await act(visit, "select errand.undrain_worker($1, $2)::text", [id, visit.form["reason"]])
            return .redirect("/workers?done=undrain")
        default: throw Problem.notFound
        }
    }
}
