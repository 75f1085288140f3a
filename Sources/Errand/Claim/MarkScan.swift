import Logging
import Postgres
import Synchronization

/// Scans below the marks for jobs that claims don't see, for at most 2 % of the time: see ``LowWaterMark``.
struct MarkScan {
    let environment: ClaimEnvironment
    let queues: [QueueClaims]
    private static let interval: Duration = .seconds(2)

    /// Runs until its task is cancelled.
    func run() async {
        var delay = Self.interval
        while !Task.isCancelled {
            try? await Task.sleep(for: delay)
            delay = Self.interval
            let scans = queues.map { $0.plan.withLock(\.nextScan) }
            if scans.allSatisfy(\.isEmpty) { continue }
            let start = ContinuousClock.now
            do {
                try await scan(scans)
            } catch {
                environment.logger.debug("could not scan below the marks", metadata: ["error": "\(error)"])
            }
            delay = max(delay, (.now - start) * 50)
        }
    }

    private func scan(_ scans: [LowWaterMark.Scan]) async throws {
        let rows = try await environment.connections.control.query(
            Statement(
                """
                select errand_internal.lowest_waiting_v1(
                    queue, $2, $3[ordinal * 4 - 3:ordinal * 4], $4[ordinal * 4 - 3:ordinal * 4])
                from unnest($1) with ordinality as asked (queue, ordinal)
                order by ordinal
                """,
                [queues.map(\.name), environment.kinds, scans.flatMap(\.after), scans.flatMap(\.upTo)]))
        for ((queue, scan), row) in zip(zip(queues, scans), rows) {
            let lowest = try row.decode([Int64?].self)
            queue.plan.withLock { $0.found(lowest, by: scan) }
            if lowest.contains(where: { $0 != nil }) { queue.wake() }
        }
    }
}
