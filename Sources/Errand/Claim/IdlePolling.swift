import Logging
import Postgres
import Synchronization
import Waiting

/// Probes all sleeping queues with one statement; see ``IdlePollingPolicy``.
struct IdlePolling {
    let environment: ClaimEnvironment
    let queues: [QueueClaims]
    /// When maintenance calls the database next.
    let timer: MaintenanceTimer

    private var idle: IdleState { environment.idle }

    /// Runs until its task is cancelled.
    func run() async {
        while !Task.isCancelled {
            guard queues.contains(where: { !$0.isAwake }), environment.identity.current != nil else {
                await idle.changed.wait(atMost: environment.configuration.pollInterval)
                continue
            }
            let isBusy = queues.contains(where: \.isClaiming)
            let next = idle.policy.withLock { $0.next(at: .uptime, isBusy: isBusy, listens: idle.listens) }
            switch next {
            case .wait(let delay):
                await idle.changed.wait(atMost: delay)
            case .probe(let arms):
                do {
                    // The filter comes last, so that it includes a queue that fell asleep before the wake-up.
                    try await probe(queues.filter { !$0.isAwake }, arms: arms)
                } catch {
                    environment.logger.debug("could not probe the sleeping queues", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    /// Wakes the queues of `asleep` that have jobs to claim. With `arms` it raises the wake-up flag first.
    private func probe(_ asleep: [QueueClaims], arms: Bool) async throws {
        let rows = try await environment.connections.claims.query(
            Statement(
                "select * from errand_internal.probe_v1($1, $2, $3, $4, $5 * interval '1 second')",
                [
                    asleep.map(\.name), environment.kinds,
                    asleep.flatMap { queue in queue.plan.withLock { $0.starts(of: .first) } }, arms, maintenanceSpan,
                ]
            ).prepared)
        let (busy, roomIn, maintainIn) = try rows.row(of: "errand_internal.probe_v1").decode(
            [String].self, Int64?.self, Int64?.self)
        if let roomIn { idle.expects(workIn: .microseconds(roomIn)) }
        if let maintainIn { timer.found(after: .microseconds(maintainIn)) }
        for queue in asleep where busy.contains(queue.name) { queue.wake() }
    }

    /// In which span a probe also looks for maintenance tasks, in seconds: a probe comes each second. While older
    /// workers look for them, it only finds what they leave. Nil: another process does maintenance.
    private var maintenanceSpan: Int32? {
        guard environment.configuration.maintenance else { return nil }
        return timer.isPausing ? 0 : 1
    }
}
