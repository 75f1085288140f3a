import Errand
import Postgres
import Synchronization

extension TestQueue {
    /// Runs all due jobs with a real worker, including those that they enqueue, until none is due. Returns every
    /// attempt.
    ///
    /// Time stands still meanwhile: jobs that become due later, such as a retry after its delay, stay. With `within`,
    /// time passes as with ``advance(by:)``, from one due time to the next: `drain(within: .seconds(3600))` runs all
    /// retries. Jobs in a paused queue, of a kind without a handler, and parked ones whose limit has no room or whose
    /// circuit is open stay too.
    ///
    /// - Parameters:
    ///   - within: the most time that may pass for the jobs.
    ///   - limit: the most real time.
    /// - Throws: ``NotDrained`` if jobs still run at the `limit`: a handler hangs, or a rate delays them. Errors of
    ///   handlers are in the result.
    @discardableResult
    public func drain(within: Duration = .zero, limit: Duration = .seconds(30)) async throws -> Drained {
        let attempts = Mutex<[Drained.Attempt]>([])
        let end = ContinuousClock.now + limit
        var rest = within
        try await promote()
        repeat {
            // A job may enqueue into a new queue: then another worker runs that one.
            while case let queues = try await dueQueues(), !queues.isEmpty {
                let isIdle = try await run(queues, until: end) { new in
                    // A job that is handed back has not begun: with all threads busy, it may wait too long for one.
                    let ran = new.filter { $0.outcome != .released }
                    attempts.withLock { $0 += ran.map(Drained.Attempt.init) }
                }
                guard isIdle else { throw NotDrained(limit: limit, done: try await drained(attempts.withLock(\.self))) }
            }
        } while try await passes(&rest)
        return try await drained(attempts.withLock(\.self))
    }

    /// Whether a job is of one of these kinds, or is handled by a SQL function.
    private static let isKnown =
        "(kind = any ($1) or kind in (select handler.kind from errand.handler where function is not null))"

    /// Jobs of these kinds that a worker would claim, or that are about to be released.
    private static let due = """
        from errand.job
        where \(isKnown)
            and not exists (
                select from errand.queue as existing where existing.name = queue and existing.paused_at is not null)
            and (state = 'available' or state = 'parked' and exists (
                select
                from errand.circuit
                where 'circuit:' || name = parked_for and opened_at is null and failures = 0))
        """

    private var kinds: [String] { handlers.kinds.map(\.rawValue) }

    private func dueQueues() async throws -> [String] {
        try await database.query(Statement("select distinct queue \(Self.due)", [kinds])).column(0, as: String.self)
    }

    /// Runs a worker until nothing is due in these queues. Returns false if it had to be stopped before.
    private func run(
        _ queues: [String], until end: ContinuousClock.Instant,
        onCompletions: @escaping @Sendable ([Completion]) -> Void
    ) async throws -> Bool {
        var configuration = worker
        configuration.queues = [:]
        for queue in queues { configuration.queues[queue] = worker.queues[queue] ?? 10 }
        // Wake-ups aren't worth a connection: a busy worker probes every 5 ms.
        configuration.listens = false
        // Time passes when the test says so.
        configuration.maintenance = false
        configuration.pollInterval = .milliseconds(5)
        configuration.onCompletions = onCompletions
        let worker = Worker(database: database, configuration: configuration, logger: logger, handlers: handlers)
        // Its own task: it must write all outcomes even if the test is cancelled.
        let running = Task { try await worker.run() }
        do {
            let isIdle = try await becomesIdle(in: queues, until: end)
            worker.stop(force: !isIdle)
            try await running.value
            return isIdle
        } catch {
            worker.stop(force: true)
            try await running.value
            throw error
        }
    }

    private func becomesIdle(in queues: [String], until end: ContinuousClock.Instant) async throws -> Bool {
        let isBusy = Statement(
            """
            select exists (select \(Self.due) and queue = any ($2))
                or exists (select from errand.job where state = 'running' and \(Self.isKnown) and queue = any ($2))
            """, [kinds, queues])
        var idleChecks = 0
        while idleChecks < 2 {
            guard ContinuousClock.now < end else { return false }
            // The part of maintenance that jobs may wait for: limits with room, circuits that are closed again, the
            // ends of other jobs, and of batches.
            let rows = try await database.pipeline([
                "select errand_internal.release_parked()", "select errand_internal.check_children()",
                "select errand_internal.check_orders()", "select errand_internal.check_batches()", isBusy,
            ])
            // The job that probes a circuit may have completed between the two: the next check releases the others.
            idleChecks = try rows[4].scalar(Bool.self) ? 0 : idleChecks + 1
            if idleChecks == 0 { try await Task.sleep(for: .milliseconds(2)) }
        }
        return true
    }

    /// Advances time to the next due time within `rest`, if there is one.
    private func passes(_ rest: inout Duration) async throws -> Bool {
        let next = try await database.query(
            Statement(
                """
                select ceil(extract(epoch from min(due) - now()) * 1000000)::bigint
                from (
                    select run_at as due
                    from errand.job
                    where state = 'scheduled' and kind = any ($1) and isfinite(run_at)
                    union all
                    select until
                    from errand.signal_wait as waits
                    join errand.job on id = job_id and parked_for = 'signal:' || waits.name
                    where kind = any ($1)
                ) as next
                """, [kinds])
        ).scalar(Int64?.self)
        guard rest > .zero, let next, .microseconds(next) <= rest else { return false }
        let step = Duration.microseconds(max(0, next))
        rest -= step
        try await advance(by: step)
        return true
    }

    private func drained(_ attempts: [Drained.Attempt]) async throws -> Drained {
        let jobs = try await jobs()
        let obsolete = Dictionary(uniqueKeysWithValues: jobs.filter { $0.state == "obsolete" }.map { ($0.id, $0) })
        var attempts = attempts
        // A guard is called with the completion, and decides the outcome of the last attempt.
        for (id, job) in obsolete {
            guard let last = attempts.lastIndex(where: { $0.job == id }) else { continue }
            attempts[last].outcome = .obsolete
            attempts[last].reason = job.reason
        }
        return Drained(attempts: attempts, left: jobs.filter { !$0.isFinished })
    }
}
