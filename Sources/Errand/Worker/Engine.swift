import Logging
import Postgres
import Waiting

/// The services of a running worker, from start to stop.
struct Engine {
    let shared: WorkerState
    let stop: Signal
    private let queues: [QueueState]
    private let runner: AttemptRunner

    init(shared: WorkerState, stop: Signal) {
        self.shared = shared
        self.stop = stop
        queues = shared.configuration.queues.sorted { $0.key < $1.key }.map { name, slots in
            QueueState(name: name, slots: slots, shared: shared)
        }
        runner = AttemptRunner(shared: shared, queues: queues)
    }

    func run() async {
        let reports = WorkerReports(shared: shared)
        let share = ConnectionShare(shared: shared)
        await share.begin()
        await withTaskGroup { group in
            let lease = LeaseKeeper(shared: shared, queues: queues, runner: runner)
            let wakeup = Wakeup(shared: shared, queues: queues)
            let watchdog = WatchdogThread(shared: shared, queues: queues)
            watchdog.start()
            defer { watchdog.stop() }
            group.addTask(executorPreference: shared.controlThread) { await lease.run() }
            group.addTask { await wakeup.run() }
            group.addTask { await share.run() }
            group.addTask { await ShareKeeper(shared: shared, queues: queues, runner: runner).run() }
            group.addTask { await IdlePolling(shared: shared, queues: queues).run() }
            group.addTask { await reports.run() }
            group.addTask { await MarkScan(shared: shared, queues: queues).run() }
            async let claiming: Void = claim()
            await drain()
            await claiming
            group.cancelAll()
            shared.fellAsleep.raise()
            shared.keeper.notifyBegun()
            shared.sharesChanged.raise()
        }
        await reports.writeRest()
        await leave()
    }

    /// Runs the loops of all queues until every outcome is written.
    private func claim() async {
        await withTaskGroup { group in
            for queue in queues { group.addTask { await QueueLoop(queue: queue, runner: runner).run() } }
        }
    }

    /// Waits for the stop, then for running jobs up to the grace period, and hands the rest back.
    private func drain() async {
        await stop.wait()
        runner.handBackStalled(at: .now)
        for queue in queues { queue.wake() }
        let stopped = ContinuousClock.now
        while shared.running.count > 0, !shared.isGraceOver(since: stopped) {
            await stop.wait(atMost: .milliseconds(20))
        }
        guard shared.running.count > 0 else { return }
        shared.logger.notice(
            "grace period is over: handing jobs back", metadata: ["running": .stringConvertible(shared.running.count)])
        runner.interruptAll(because: .shutdown)
        // A handler that reacts to its cancellation ends within this time, and its result is written.
        let interrupted = ContinuousClock.now
        while shared.running.count > 0, ContinuousClock.now - interrupted < .milliseconds(500) {
            await stop.wait(atMost: .milliseconds(10))
        }
        runner.abandonAll()
    }

    private func leave() async {
        for id in shared.identity.all {
            let isUncertain = shared.identity.retiring.contains(id)
            do {
                try await shared.control.execute(
                    Statement("select errand_internal.leave_v1($1, $2)", [id, isUncertain]))
            } catch {
                shared.logger.warning(
                    "could not deregister: the lease expires by itself",
                    metadata: ["worker_id": .stringConvertible(id), "error": "\(error)"])
            }
        }
        await shared.claims.close()
        await shared.control.close()
        shared.logger.info("stopped")
    }
}
