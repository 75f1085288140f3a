import Foundation
import Listings
import Postgres

/// What a cancel or a retry of a batch's jobs would do.
struct BatchPlan {
    struct Row: Decodable {
        let name: String
        let state: String
        let jobs: Int
        let successKind: String?
        let finishKind: String?
        let failureKind: String?
        let failureJobId: Int?
    }

    let id: Int64
    let name: String
    let count: String
    let isEmpty: Bool
    let isCancel: Bool
    /// Whether one action leaves some.
    let isMore: Bool
    let isOpen: Bool
    let hasEnded: Bool
    /// The kinds of the callbacks that follow a cancel.
    let follow: String?
    let successKind: String?

    init(_ row: Row, of id: Int64, isCancel: Bool) {
        self.id = id
        self.isCancel = isCancel
        name = BlockedKey.short(row.name)
        let jobs = min(row.jobs, Dashboard.mostJobs)
        count = jobs == 1 ? "1 job" : "\(Amount.count(jobs)) jobs"
        isEmpty = jobs == 0
        isMore = row.jobs > jobs
        isOpen = row.state == "open"
        hasEnded = row.state == "ended"
        let kinds = [row.failureJobId == nil ? row.failureKind : nil, row.finishKind].compactMap(\.self)
        follow = hasEnded || kinds.isEmpty ? nil : kinds.joined(separator: " and ")
        successKind = hasEnded ? nil : row.successKind
    }

    /// Counts one job more than an action changes.
    static func query(of id: Int64, isCancel: Bool) -> Query {
        Query(
            """
            select name, state, success_kind, finish_kind, failure_kind, failure_job_id,
                errand.batch_\(isCancel ? "cancel" : "retry")(id, 'dry run', \(Dashboard.mostJobs + 1), dry_run => true)
                    as jobs
            from errand.batches
            where id = $1
            """, [id])
    }
}

extension Dashboard {
    func batchCancelPlan(_ visit: Visit) async throws -> Reply { try await batchPlan(visit, isCancel: true) }

    func batchRetryPlan(_ visit: Visit) async throws -> Reply { try await batchPlan(visit, isCancel: false) }

    private func batchPlan(_ visit: Visit, isCancel: Bool) async throws -> Reply {
        let id = try visit.number("id")
        let results = try await store.read(as: visit.caller, [BatchPlan.query(of: id, isCancel: isCancel)])
        guard let row = try results.rows(0, of: BatchPlan.Row.self).first else { throw Problem.noBatch(id) }
        return page(
            "batch-plan", "\(isCancel ? "Cancel" : "Retry") the jobs of batch \(id)", section: "Batches", visit,
            results, BatchPlan(row, of: id, isCancel: isCancel))
    }

    /// Closes the batch first, or its jobs could go on adding others.
    func cancelBatch(_ visit: Visit) async throws -> Reply {
        let id = try visit.number("id")
        let reason = visit.form["reason"] ?? ""
        let close = Statement("select errand.batch_close($1)::text", [id])
        switch visit.form["action"] {
        case "cancel":
            let cancel = Statement("select errand.batch_cancel($1, $2, $3)::text", [id, reason, Int32(Self.mostJobs)])
            let cancelled = try await act(visit, [close, cancel])
            return .redirect("/batches/\(id)?done=" + (cancelled == "0" ? "none" : "cancelled-\(cancelled ?? "0")"))
        case "bulk":
            let filter = try JSONB(encoding: ["batch": "\(id)"])
            try await act(
                visit, [close, Statement("select errand.start_bulk('cancel', $1, $2)::text", [filter, reason])])
            return .redirect("/failures?done=bulk")
        default: throw Problem.notFound
        }
    }

    func retryBatch(_ visit: Visit) async throws -> Reply {
        let id = try visit.number("id")
        guard visit.form["action"] == "retry" else { throw Problem.notFound }
        let retried = try await act(
            visit, "select errand.batch_retry($1, $2, $3)::text",
            [id, visit.form["reason"] ?? "", Int32(Self.mostJobs)])
        return .redirect("/batches/\(id)?done=" + (retried == "0" ? "none" : "retried-\(retried ?? "0")"))
    }
}
