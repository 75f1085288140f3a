import Logging
import Postgres
import Waiting

/// Counts, measures and logs completions once they are written.
final class WrittenCompletions: Sendable {
    let counts = FinishedCounts()
    /// Nil if no metrics are collected.
    let metrics: WorkerMetrics?
    let failures: FailureLog
    let ends = EndNotices()
    private let onCompletions: (@Sendable ([Completion]) -> Void)?
    private let logger: Logger

    init(of configuration: WorkerConfiguration, logger: Logger) {
        metrics = WorkerMetrics(queues: configuration.queues, cell: configuration.cell)
        failures = FailureLog(hasText: configuration.logsErrorTexts)
        onCompletions = configuration.onCompletions
        self.logger = logger
    }

    /// Records those of a batch that are written.
    ///
    /// - Parameter ids: the worker ids with a lease. Maintenance counts the jobs of an id that has lost it.
    func record(_ batch: [Completion], _ reply: CompletionReply, leased ids: [Int64]) {
        let isWhole = reply.refused.isEmpty && reply.locked.isEmpty
        let written = isWhole ? batch : batch.filter { !reply.isLocked($0) && !reply.isRefused($0) }
        counts.add(written.filter { ids.contains($0.job.workerID) }, by: reply.transactions)
        for commit in written.compactMap(\.commit) { counts.end(commit.ticket) }
        metrics?.completed(written)
        failures.write(written, errorIDs: reply.errorIDs, to: logger, at: .uptime)
        ends.add(written)
        onCompletions?(written)
        for completion in batch where !isWhole && reply.isRefused(completion) {
            logger.warning(
                "late outcome not written: the job was cancelled, or its lease was lost",
                metadata: ["job_id": .stringConvertible(completion.job.id)])
        }
    }
}
