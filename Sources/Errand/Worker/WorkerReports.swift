import Logging
import Postgres
import Waiting

/// Writes once a second the counts of completed attempts, and the progress and logs of running ones.
struct WorkerReports {
    let environment: ClaimEnvironment

    /// Runs until its task is cancelled.
    func run() async {
        var seconds = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            seconds += 1
            if seconds % 30 == 0 { await environment.connections.closeUnneeded() }
            sample()
            environment.written.failures.writeRest(to: environment.logger, at: .uptime)
            // A task of its own, so that a stop doesn't cancel it: what was taken out and not written would be lost.
            await Task {
                await writeCounts()
                await writeProgress()
            }.value
        }
    }

    /// Writes the rest, after every outcome is written.
    func writeRest() async {
        sample()
        await writeCounts()
        await writeProgress()
    }

    private func sample() {
        environment.metrics?.running(environment.attempts.running.leasedJobs())
        environment.metrics?.memory(of: environment.attemptEnvironment.memory)
    }

    private func writeCounts() async {
        guard let id = environment.identity.current else { return }
        let taken = environment.written.counts.take()
        guard !taken.counts.isEmpty else { return }
        do {
            let ids = [id] + environment.identity.retiring.sorted()
            try await environment.connections.control.execute(
                Statement(
                    "select errand_internal.count_finished_v1($1, $2, $3, $4)",
                    [ids, try JSONB(encoding: taken.counts), taken.upTo, taken.beyond]))
        } catch {
            environment.written.counts.putBack(taken.counts)
        }
    }

    private func writeProgress() async {
        let progress = environment.attemptEnvironment.progress
        guard !progress.isEmpty else { return }
        let reports = progress.take(running: Set(environment.attempts.running.leasedJobs().map(\.id)))
        guard !reports.isEmpty else { return }
        do {
            try await environment.connections.control.execute(ProgressBuffer.statement(for: reports))
        } catch {
            // A refused statement would be refused again.
            if (error as? PostgresError)?.isTransient == true { progress.put(back: reports) }
            environment.logger.warning("reports of jobs could not be written", metadata: ["error": "\(error)"])
        }
    }
}
