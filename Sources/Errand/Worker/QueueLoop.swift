import Logging
import Postgres
import Synchronization
import Waiting

/// Makes the round trips of one queue, over two connections.
///
/// The first connection claims all due jobs. While the queue has a backlog, the second one alternates with it, so that
/// the server works on one batch while the worker runs another.
struct QueueLoop {
    let queue: QueueState
    let runner: AttemptRunner

    private var shared: WorkerState { queue.shared }

    /// Runs until the worker stops and every outcome is written.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await claimBacklog() }
            await claimAll()
            queue.backlog.raise()
        }
    }

    /// The first connection's loop: all due work, even a single job.
    private func claimAll() async {
        let trip = RoundTrip(queue: queue, runner: runner, connection: .first)
        var backoff = Backoff()
        var reconnects = ReconnectCount(shared.metrics?.reconnects(of: "claim"))
        while true {
            queue.iterations.add(1, ordering: .relaxed)
            if queue.share != nil { _ = runner.updateShare(of: queue) }
            let task = queue.nextTask()
            if task.isNothing {
                if !shared.isStopping, queue.scansAhead {
                    await scanAhead()
                    continue
                }
                queue.set(isResting: true)
                if task.isLast { return }
                await queue.work.wait(atMost: task.claimsIn ?? queue.checksShareIn)
                queue.set(isResting: false)
                // From now on the shares are updated even while a claim hangs.
                if queue.share != nil { shared.sharesChanged.raise() }
                continue
            }
            do {
                note(try await trip.run(task), of: task)
                // A write without a claim says nothing about failing claims.
                if !queue.isRefused { backoff.reset() }
                reconnects.succeeded()
            } catch {
                reconnects.failed(with: error)
                await recover(from: error, after: backoff.next(), at: queue.work)
            }
        }
    }

    /// A round trip returned `claimed` jobs; nil if it claimed none, or could not claim.
    private func note(_ claimed: Int?, of task: RoundTripTask) {
        if let claimed, claimed > 0 {
            let calls = shared.idlePolling.withLock { policy in
                policy.worked(at: shared.uptime)
                return claimed == task.limit && policy.callsOthers(at: shared.uptime)
            }
            if calls { Task { await callOthers() } }
        }
        // Also if nothing could be claimed, because the queue is paused or the lease is lost: a wake-up follows when it
        // can.
        guard task.limit > 0, claimed != task.limit else { return }
        if !queue.fallAsleep() { shared.fellAsleep.raise() }
    }

    /// Wakes more workers. Without it, they find the jobs by their probes.
    private func callOthers() async {
        do {
            try await shared.control.execute("select pg_notify('errand_wake', '')")
        } catch {
            shared.logger.debug("other workers could not be woken", metadata: ["error": "\(error)"])
        }
    }

    /// The second connection's loop: large batches only, as long as there are any.
    private func claimBacklog() async {
        let trip = RoundTrip(queue: queue, runner: runner, connection: .second)
        var backoff = Backoff()
        while true {
            await queue.backlog.wait()
            if shared.isStopping { return }
            // A new worker reads once over all dead entries. If both connections did that at the same time, each would
            // mistake the other's claim for a long-running writer and rescan.
            guard queue.marks.contains(where: { $0 > 0 }) else { continue }
            do {
                while let task = queue.nextLargeTask() {
                    _ = try await trip.run(task)
                    backoff.reset()
                }
            } catch {
                await recover(from: error, after: backoff.next(), at: queue.backlog)
            }
            // When the first loop stops, it waits for what this one has written.
            queue.work.raise()
        }
    }

    /// A failure ends scanning ahead: the next claim shows the cause.
    private func scanAhead() async {
        do {
            try await ScanAhead(queue: queue).run()
        } catch {
            shared.logger.debug("could not scan ahead", metadata: ["queue": "\(queue.name)", "error": "\(error)"])
            queue.endScanAhead()
        }
    }

    private func recover(from error: any Error, after delay: Duration, at signal: Signal) async {
        shared.logger.warning(
            "claiming is interrupted",
            metadata: [
                "queue": "\(queue.name)", "error": "\(error)",
                "retry_in_seconds": .stringConvertible(delay / .seconds(1)),
            ])
        // After a lost connection another server may have taken over, so the marks are void. A statement that timed out
        // was ended by the same server, so they stay valid. Without them, each claim would read all dead entries that a
        // held snapshot keeps from being vacuumed, and take even longer.
        let isTimeout = (error as? PostgresError)?.isStatementTimeout == true
        let goesOn = queue.backOff(for: delay, resettingMarks: !isTimeout)
        if !goesOn { await signal.wait(atMost: delay) }
        queue.endBackOff()
    }
}
