import CoreMetrics
import Logging
import Postgres
import Synchronization
import Waiting

/// Listens for wake-ups, maintenance that is due, and cancellations, on a connection of its own. All are hints: polls
/// and heartbeats find everything without them.
struct Wakeup {
    let environment: ClaimEnvironment
    let queues: [QueueClaims]
    let watch: AttemptWatch
    /// When maintenance calls the database next.
    let timer: MaintenanceTimer
    /// A probe of all queues costs a third of a claim.
    private static let fewQueues = 2
    private static let stallCheck: Duration = .seconds(5)

    /// Runs until its task is cancelled; connects again whenever the connection is lost.
    func run() async {
        guard environment.configuration.listens else { return }
        var backoff = Backoff()
        var throttle = LogThrottle()
        var reconnects = ReconnectCount(environment.metrics?.reconnects(of: "listen"))
        while !Task.isCancelled {
            guard environment.connections.granted == nil else {
                try? await Task.sleep(for: Self.stallCheck)
                continue
            }
            do {
                let connection = try await environment.connections.handlers.makeConnection()
                guard try await connection.listenIsDelivered(from: environment.connections.control) else {
                    environment.logger.warning(
                        "LISTEN is not delivered on this connection (a transaction pooler?): polling only",
                        metadata: [
                            "poll_interval_seconds": .stringConvertible(
                                environment.configuration.pollInterval / .seconds(1))
                        ])
                    await connection.close()
                    try await Task.sleep(for: .seconds(300))
                    continue
                }
                await connection.deliverNotifications { receive($0) }
                try await connection.listen("errand_wake")
                try await connection.listen("errand_cancel")
                backoff.reset()
                reconnects.succeeded()
                environment.idle.set(listens: true)
                // Notifications that were sent before are lost: claim once.
                wakeAll()
                await withTaskCancellationHandler {
                    async let _: Void = closeIfStalled(connection)
                    // The stream has no notifications, and ends with the connection.
                    for await _ in connection.notifications {}
                } onCancel: {
                    Task { await connection.close() }
                }
                reconnects.lost()
            } catch  where !Task.isCancelled {
                reconnects.failed(with: error)
                if throttle.allowsLine() {
                    environment.logger.warning("listening is interrupted", metadata: ["error": "\(error)"])
                }
            } catch {}  // the worker stops: this is no failure
            environment.idle.set(listens: false)
            try? await Task.sleep(for: backoff.next())
        }
    }

    /// Closes the connection once its host has stalled: after a failover the old primary may live on, and would never
    /// send a wake-up.
    private func closeIfStalled(_ connection: Connection) async {
        while !Task.isCancelled, await connection.isUsable() { try? await Task.sleep(for: Self.stallCheck) }
    }

    /// Called on the connection's thread.
    private func receive(_ notification: PostgresNotification) {
        if notification.channel == "errand_cancel" { return watch.requestHeartbeat() }
        // Another worker has lowered the flag: probes begin again.
        if notification.payload == "lowered" {
            environment.idle.policy.withLock { $0.lowered(at: .uptime) }
            return environment.idle.changed.raise()
        }
        // A task is due that was not (errand_internal.batch_moved). The oldest workers run it.
        if notification.payload == "maintenance" {
            if !timer.isPausing { timer.found(after: .zero) }
            return
        }
        environment.metrics?.wakeUps.increment()
        let wakeUp = environment.idle.policy.withLock { $0.woken(at: .uptime, draw: .random(in: 0..<1)) }
        if wakeUp.claims { claim() }
        if wakeUp.lowers { Task { await lowerFlag() } }
    }

    /// A job may be due in any queue. A few queues claim at once; of many queues, a probe finds those with jobs.
    private func claim() {
        guard queues.count > Self.fewQueues else { return wakeAll() }
        // A running claim may have begun before the job was there, and the probe covers only sleeping queues.
        for queue in queues where queue.isAwake { queue.wake() }
        environment.idle.expects(workIn: .zero)
        environment.idle.changed.raise()
    }

    /// Lowering the flag notifies the other workers, so that sleeping ones begin to probe.
    private func lowerFlag() async {
        do {
            try await environment.connections.control.execute(
                Statement("select errand_internal.set_wake_flag_v1(false)"))
        } catch {
            environment.logger.debug("the wake flag could not be lowered", metadata: ["error": "\(error)"])
        }
    }

    private func wakeAll() {
        for queue in queues { queue.wake() }
    }
}
