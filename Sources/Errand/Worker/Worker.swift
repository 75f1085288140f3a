import Logging
import Postgres
import ServiceLifecycle

/// Claims jobs, runs them, and records their ends, until it is asked to stop.
///
/// ```swift
/// let worker = Worker(database: database, logger: logger) {
///     SendReceiptHandler(mail: mail)
/// }
/// try await ServiceGroup(services: [worker], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
/// Run any number, on any number of hosts. Two never run the same job at the same time while both keep their leases.
public struct Worker: Service {
    private let shared: WorkerState
    private let stopped = Signal()

    public init(
        database: Database, configuration: WorkerConfiguration = WorkerConfiguration(), logger: Logger,
        @HandlersBuilder handlers: () -> [any JobHandler]
    ) {
        self.init(
            database: database, configuration: configuration, logger: logger, handlers: Handlers(handlers()))
    }

    public init(database: Database, configuration: WorkerConfiguration, logger: Logger, handlers: Handlers) {
        shared = WorkerState(database: database, handlers: handlers, configuration: configuration, logger: logger)
    }

    /// Runs until a graceful shutdown: then it claims no more, lets running jobs finish within the grace period, hands
    /// the others back uncounted, and returns. A cancelled task skips the grace.
    ///
    /// A database that can't be reached is waited for; nothing but the end of its task makes it return.
    public func run() async throws {
        // Its own task: what is handed back at the end must be written though the caller's task was cancelled.
        let engine = Task { await Engine(shared: shared, stop: stopped).run() }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await engine.value
            } onGracefulShutdown: {
                stop()
            }
        } onCancel: {
            stop(force: true)
        }
    }

    /// Whether it has a lease at the moment, and so may claim.
    package var isRegistered: Bool { shared.identity.current != nil }

    /// Claims no more and lets ``run()`` come to its end, as a graceful shutdown does; with `force` without any grace.
    public func stop(force: Bool = false) {
        shared.stop(force: force)
        stopped.raise()
    }
}

/// The parts of a running worker, from start to stop.
private struct Engine {
    let shared: WorkerState
    let stop: Signal

    func run() async {
        let loops = shared.configuration.queues.sorted { $0.key < $1.key }.map { queue, slots in
            ClaimLoop(queue: queue, slots: slots, shared: shared)
        }
        await withTaskGroup { group in
            let lease = LeaseKeeper(shared: shared, loops: loops)
            let wakeup = Wakeup(shared: shared, loops: loops)
            let watchdog = WatchdogThread(shared: shared, loops: loops)
            watchdog.start()
            defer { watchdog.stop() }
            group.addTask { await lease.run() }
            group.addTask { await wakeup.run() }
            group.addTask { await IdleLook(shared: shared, loops: loops).run() }
            group.addTask { await flushCounts() }
            group.addTask { await lookBelowMarks(loops) }
            async let claiming: Void = withTaskGroup { group in
                for loop in loops { group.addTask { await loop.run() } }
            }
            await drain(loops)
            await claiming
            group.cancelAll()
            shared.dozed.raise()
            shared.keeper.stir()
        }
        await leave()
    }

    /// Waits for the stop, then for running jobs, no longer than the grace period; hands the rest back.
    private func drain(_ loops: [ClaimLoop]) async {
        await stop.wait()
        for loop in loops {
            loop.handBackStalled(at: .now)
            loop.wake()
        }
        let clock = ContinuousClock()
        let stopped = clock.now
        while shared.running.count > 0, !shared.isGraceOver(since: stopped) {
            await stop.wait(atMost: .milliseconds(20))
        }
        guard shared.running.count > 0 else { return }
        shared.logger.notice("grace is over: handing jobs back", metadata: ["running": "\(shared.running.count)"])
        shared.running.interruptAll(because: .shutdown)
        // A handler that heeds its cancellation ends within this; whatever it answers is written.
        let interrupted = clock.now
        while shared.running.count > 0, clock.now - interrupted < .milliseconds(500) {
            await stop.wait(atMost: .milliseconds(10))
        }
        shared.running.abandonAll()
    }

    private func leave() async {
        shared.metrics?.running(shared.running.held())
        await flush()
        await flushNotes()
        for id in shared.identity.all {
            let isInDoubt = shared.identity.retiring.contains(id)
            do {
                try await shared.control.execute(Statement("select errand.leave_v1($1, $2)", [id, isInDoubt]))
            } catch {
                shared.logger.warning(
                    "could not say goodbye: the lease ends by itself",
                    metadata: ["worker_id": "\(id)", "error": "\(error)"])
            }
        }
        await shared.claims.close()
        await shared.control.close()
        shared.logger.info("stopped")
    }

    private func flushCounts() async {
        var seconds = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            seconds += 1
            if seconds % 30 == 0 { await shared.claims.closeUnneeded() }
            shared.metrics?.running(shared.running.held())
            shared.failures.writeRest(to: shared.logger, at: shared.uptime)
            // A task of its own, so that the stop doesn't cut it off: what was taken out and not written would be lost.
            await Task {
                await flush()
                await flushNotes()
            }.value
        }
    }

    private func flush() async {
        guard let id = shared.identity.current else { return }
        let taken = shared.counts.take()
        guard !taken.counts.isEmpty else { return }
        do {
            try await shared.control.execute(
                Statement(
                    "select errand.count_finished_v1($1, $2, $3, $4)",
                    [
                        [id] + shared.identity.retiring.sorted(), try JSONB(encoding: taken.counts), taken.upTo,
                        taken.beyond,
                    ]))
        } catch {
            shared.counts.putBack(taken.counts)
        }
    }

    private func flushNotes() async {
        guard !shared.environment.progress.isEmpty else { return }
        let notes = shared.environment.progress.take(running: Set(shared.running.held().map(\.id)))
        guard !notes.isEmpty else { return }
        do {
            try await shared.control.execute(ProgressBuffer.statement(for: notes))
        } catch {
            // What the database refuses it would refuse again.
            if (error as? PostgresError)?.isTransient == true { shared.environment.progress.put(back: notes) }
            shared.logger.warning("what jobs report could not be written", metadata: ["error": "\(error)"])
        }
    }

    /// The safety net below the marks, at most 2 % of the time.
    private func lookBelowMarks(_ loops: [ClaimLoop]) async {
        var pause: Duration = .seconds(2)
        while !Task.isCancelled {
            try? await Task.sleep(for: pause)
            pause = .seconds(2)
            let looks = loops.map(\.look)
            if looks.allSatisfy(\.isEmpty) { continue }
            let start = ContinuousClock.now
            do {
                let rows = try await shared.control.query(
                    Statement(
                        """
                        select errand.lowest_waiting_v2(
                            queue, $2, $3[place * 4 - 3:place * 4], $4[place * 4 - 3:place * 4])
                        from unnest($1) with ordinality as asked (queue, place)
                        order by place
                        """,
                        [loops.map(\.queue), shared.kinds, looks.flatMap(\.after), looks.flatMap(\.upTo)]))
                for ((loop, look), row) in zip(zip(loops, looks), rows) {
                    loop.found(try row.decode([Int64?].self), by: look)
                }
            } catch {
                shared.logger.debug("no look below the marks", metadata: ["error": "\(error)"])
            }
            pause = max(pause, (.now - start) * 50)
        }
    }
}
