import Postgres
import Synchronization
import Waiting

/// Moves a queue's marks on after a claim that took too long: see ``LowWaterMark`` and ``ClaimPlan``.
struct ScanAhead {
    let queue: QueueClaims
    let environment: ClaimEnvironment

    /// Scans once, for less than a second. After a scan that moved nothing it waits, so that a running transaction can
    /// be skipped.
    func run() async throws {
        let starts = queue.plan.withLock { $0.starts(of: .first) }
        let rows = try await environment.connections.claims.query(
            Statement(
                "select * from errand_internal.scan_ahead_v1($1, $2, $3, $4)",
                [queue.name, environment.kinds, starts, LowWaterMark.stride]))
        let row = try rows.row(of: "errand_internal.scan_ahead_v1")
        let (lowest, high, latest, snapshot) = try row.decode([Int64?].self, Int64.self, Int64.self, Snapshot.self)
        let reached = zip(lowest, starts).map { lowest, start in
            lowest.map { $0 - 1 } ?? start + LowWaterMark.stride
        }
        let scan = LowWaterMark.Observation(
            high: high, latest: UInt64(latest), xmax: snapshot.xmax, running: snapshot.running,
            positions: starts.map { _ in [] }, isFull: false, starts: starts, reached: reached)
        let hasMoved = queue.plan.withLock { $0.scanned(scan, at: .uptime) }
        if !hasMoved { try await Task.sleep(for: LowWaterMark.timeout) }
    }
}
