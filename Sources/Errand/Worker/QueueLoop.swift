import Logging
import Postgres
import Synchronization

/// Makes the round trips of one queue, over two connections.
///
/// The first connection takes whatever is due. While the queue is deep the second one takes turns with it, so that the
/// server works on one batch while the worker runs another.
struct QueueLoop {
    let queue: QueueState
    let runner: AttemptRunner

    private var shared: WorkerState { queue.shared }

    /// Runs until the worker stops and every outcome is written.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await assist() }
            await lead()
            queue.deep.raise()
        }
    }

    /// The first connection's loop: whatever is due, however little.
    private func lead() async {
        let trip = RoundTrip(queue: queue, runner: runner, connection: .first)
        var backoff = Backoff()
        var reconnects = ReconnectCount(shared.metrics?.reconnects(of: "claim"))
        while true {
            queue.turns.add(1, ordering: .relaxed)
            let task = queue.nextTask()
            if task.isNothing {
                if !shared.isStopping, queue.scansAhead {
                    await scanAhead()
                    continue
                }
                queue.set(isResting: true)
                if task.isLast { return }
                await queue.work.wait(atMost: task.claimsIn)
                queue.set(isResting: false)
                continue
            }
            do {
                note(try await trip.run(task), of: task)
                // A write alone says nothing of claims that fail.
                if !queue.isApart { backoff.reset() }
                reconnects.succeeded()
            } catch {
                reconnects.failed(with: error)
                await recover(from: error, after: backoff.next(), at: queue.work)
            }
        }
    }

    /// A round trip brought so many jobs; nil if it asked for none, or could not ask.
    private func note(_ claimed: Int?, of task: RoundTripTask) {
        if let claimed, claimed > 0 { shared.idlePolling.withLock { $0.worked(at: shared.uptime) } }
        // Also where nothing could be asked, since the queue is paused or the lease is lost: it is told when it can.
        guard task.limit > 0, claimed != task.limit else { return }
        if !queue.fallAsleep() { shared.fellAsleep.raise() }
    }

    /// The second connection's loop: large batches only, as long as there are any.
    private func assist() async {
        let trip = RoundTrip(queue: queue, runner: runner, connection: .second)
        var backoff = Backoff()
        while true {
            await queue.deep.wait()
            if shared.isStopping { return }
            // A new worker reads once over all that is gone and not yet vacuumed. If both connections did that at the
            // same time, each would mistake the other's claim for a long-running writer and rescan.
            guard queue.marks.contains(where: { $0 > 0 }) else { continue }
            do {
                while let task = queue.nextLargeTask() {
                    _ = try await trip.run(task)
                    backoff.reset()
                }
            } catch {
                await recover(from: error, after: backoff.next(), at: queue.deep)
            }
            // The first loop, when it stops, waits for what this one has written.
            queue.work.raise()
        }
    }

    /// A failure ends it: the next claim shows what holds it up.
    private func scanAhead() async {
        do {
            try await ScanAhead(queue: queue).run()
        } catch {
            shared.logger.debug("no scan ahead", metadata: ["queue": "\(queue.name)", "error": "\(error)"])
            queue.endScanAhead()
        }
    }

    private func recover(from error: any Error, after delay: Duration, at signal: Signal) async {
        shared.logger.warning(
            "claiming is interrupted",
            metadata: ["queue": "\(queue.name)", "error": "\(error)", "again_in": "\(delay)"])
        // After a lost connection another server may have taken the place: what was known of its positions is void. A
        // statement that took too long was ended by the same server. A scan from position 0 on, over all that a held
        // snapshot keeps from being vacuumed, would take longer still, each time.
        let isTimeout = (error as? PostgresError)?.isStatementTimeout == true
        let goesOn = queue.backOff(for: delay, forgettingMarks: !isTimeout)
        if !goesOn { await signal.wait(atMost: delay) }
        queue.endBackOff()
    }
}
