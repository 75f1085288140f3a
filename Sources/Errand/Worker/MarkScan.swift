import Logging
import Postgres

/// Scans below the marks for jobs that claims don't see, at most 2 % of the time: see ``LowWaterMark``.
struct MarkScan {
    let shared: WorkerState
    let queues: [QueueState]
    private static let interval: Duration = .seconds(2)

    /// Runs until its task is cancelled.
    func run() async {
        var delay = Self.interval
        while !Task.isCancelled {
            try? await Task.sleep(for: delay)
            delay = Self.interval
            let looks = queues.map(\.look)
            if looks.allSatisfy(\.isEmpty) { continue }
            let start = ContinuousClock.now
            do {
                try await scan(looks)
            } catch {
                shared.logger.debug("no scan below the marks", metadata: ["error": "\(error)"])
            }
            delay = max(delay, (.now - start) * 50)
        }
    }

    private func scan(_ looks: [LowWaterMark.Look]) async throws {
        let rows = try await shared.control.query(
            Statement(
                """
                select errand.lowest_waiting_v1(
                    queue, $2, $3[place * 4 - 3:place * 4], $4[place * 4 - 3:place * 4])
                from unnest($1) with ordinality as asked (queue, place)
                order by place
                """,
                [queues.map(\.name), shared.kinds, looks.flatMap(\.after), looks.flatMap(\.upTo)]))
        for ((queue, look), row) in zip(zip(queues, looks), rows) {
            queue.found(try row.decode([Int64?].self), by: look)
        }
    }
}
