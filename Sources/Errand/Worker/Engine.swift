import Logging
import Postgres
import Synchronization
import Waiting

/// The parts of a worker, and its services from start to stop.
struct Engine {
    let environment: ClaimEnvironment
    private let queues: [QueueClaims]
    private let watch = AttemptWatch()
    private let timers = MaintenanceTimers()
    /// Raised when the shares of slots should be updated.
    private let sharesChanged = Signal()

    /// - Parameter shared: slots and memory shared with workers of other databases; nil: all are its own.
    init(
        database: Database, handlers: Handlers, configuration: WorkerConfiguration, sharing shared: SharedCapacity?,
        logger: Logger
    ) {
        var logger = logger
        if let cell = configuration.cell { logger[metadataKey: "cell"] = "\(cell)" }
        let capacity = shared ?? SharedCapacity(of: configuration)
        let changed = shared == nil ? nil : sharesChanged
        let written = WrittenCompletions(of: configuration, logger: logger)
        let connections = WorkerConnections(to: database, for: configuration, logger: logger)
        let attemptEnvironment = AttemptEnvironment(
            database: database, handlers: handlers,
            registered: RegisteredHandlers(
                functions: connections.functions.map { FunctionHandlers(database: $0, control: connections.control) },
                endpoints: configuration.endpoints.map(EndpointHandlers.init)),
            memory: capacity.memory, commits: written.counts, logger: logger)
        let running = Running()
        capacity.add(running)
        let held = configuration.queues.sorted { $0.key < $1.key }.map { [watch] name, slots in
            HeldJobs(
                queue: name, slots: slots, of: capacity, waking: changed, in: attemptEnvironment, addingTo: running,
                watchedBy: watch)
        }
        let stop = StopRequest()
        environment = ClaimEnvironment(
            configuration: configuration, connections: connections, stop: stop,
            attempts: Attempts(running, of: held), in: attemptEnvironment, written: written, capacity: capacity,
            logger: logger)
        queues = held.map { held in
            QueueClaims(of: held, batch: configuration.batch, stop: stop, metrics: written.metrics?[held.queue])
        }
    }

    private var logger: Logger { environment.logger }
    private var running: Running { environment.attempts.running }
    private var connections: WorkerConnections { environment.connections }

    /// Runs until a stop was requested, and every outcome is written or handed back.
    func run() async {
        let isOver = Signal()
        async let maintenance: Void = maintain(unless: isOver)
        let reports = WorkerReports(environment: environment)
        await serve(reports)
        await reports.writeRest()
        await leave()
        isOver.raise()
        timers.stop()
        await maintenance
        if connections.granted != nil { await connections.share(nil) }
    }

    private func serve(_ reports: WorkerReports) async {
        let share = ConnectionShare(connections: connections, logger: logger)
        await share.begin()
        let watchdog = WatchdogThread(environment: environment, queues: queues)
        watchdog.start()
        defer { watchdog.stop() }
        let lease = LeaseKeeper(environment: environment, queues: queues, watch: watch, timers: timers)
        let wakeup = Wakeup(environment: environment, queues: queues, watch: watch, timer: timers.short)
        let polling = IdlePolling(environment: environment, queues: queues, timer: timers.short)
        let shares = ShareKeeper(queues: queues, changed: sharesChanged)
        let scan = MarkScan(environment: environment, queues: queues)
        await withTaskGroup { group in
            group.addTask(executorPreference: connections.controlThread) { await lease.run() }
            group.addTask { await wakeup.run() }
            group.addTask { await share.run() }
            group.addTask { await shares.run() }
            group.addTask { await polling.run() }
            group.addTask { await reports.run() }
            group.addTask { await scan.run() }
            group.addTask { await environment.written.ends.run(over: connections.handlers) }
            async let claiming: Void = claim()
            await drain()
            await claiming
            group.cancelAll()
            environment.idle.changed.raise()
            watch.notifyBegun()
            sharesChanged.raise()
            environment.written.ends.stop()
        }
    }

    /// Runs the loops of all queues until every outcome is written.
    private func claim() async {
        await withTaskGroup { group in
            for queue in queues { group.addTask { await QueueLoop(queue: queue, environment: environment).run() } }
        }
    }

    /// Waits for the stop, then for running jobs up to the grace period, and hands the rest back.
    private func drain() async {
        let (stop, attempts) = (environment.stop, environment.attempts)
        await stop.wait()
        attempts.handBackStalled(at: .now, isStopping: true)
        for queue in queues { queue.wake() }
        let graceEnd = ContinuousClock.now + environment.configuration.grace
        // A claim that is under way may still return jobs, and one that came before the stop begins them.
        while holdsJobs, !stop.isForced, .now < graceEnd { await stop.wait(atMost: .milliseconds(20)) }
        guard running.count > 0 else { return }
        logger.notice(
            "grace period is over: handing jobs back", metadata: ["running": .stringConvertible(running.count)])
        attempts.interruptAll(because: .shutdown)
        // A handler that reacts to its cancellation ends within this time, and its result is written.
        let interrupted = ContinuousClock.now
        while running.count > 0, ContinuousClock.now - interrupted < .milliseconds(500) {
            await stop.wait(atMost: .milliseconds(10))
        }
        attempts.abandonAll()
    }

    private var holdsJobs: Bool {
        running.count > 0 || queues.contains { $0.held.state.withLock(\.inFlight) > 0 }
    }

    private func leave() async {
        for id in environment.identity.all {
            let isUncertain = environment.identity.retiring.contains(id)
            do {
                try await connections.control.execute(
                    Statement("select errand_internal.leave_v1($1, $2)", [id, isUncertain]))
            } catch {
                logger.warning(
                    "could not deregister: the lease expires by itself",
                    metadata: ["worker_id": .stringConvertible(id), "error": "\(error)"])
            }
        }
        await connections.claims.close()
        await connections.functions?.close()
        await connections.control.close()
        logger.info("stopped")
    }

    private func maintain(unless isOver: Signal) async {
        guard environment.configuration.maintenance else { return }
        // Not before the worker is registered. On a copy of a database it never is, and nothing may be deleted there.
        while environment.identity.current == nil {
            if await isOver.wait(atMost: .milliseconds(100)) { return }
        }
        await Maintenance(database: connections.handlers, logger: logger).run(over: connections.maintenance, at: timers)
    }
}
