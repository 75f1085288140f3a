import Postgres
import Synchronization
import Waiting

/// Tells those who follow jobs that these have ended: by a statement of its own each 5 ms, after the commits that ended
/// them. In those transactions a NOTIFY would have the commits of all workers wait for each other.
///
/// A notice may be lost: who waits asks errand.ended each second.
final class EndNotices: Sendable {
    private let ended = Mutex<[(id: Int64, state: String)]>([])
    private let work = Signal()
    private static let interval: Duration = .milliseconds(5)
    /// How long notices are dropped after the server has said that nobody listens.
    private static let rest: Duration = .seconds(1)

    /// Takes those that are followed and have ended for good.
    func add(_ completions: [Completion]) {
        let notices = completions.compactMap { completion in
            completion.job.isFollowed ? completion.endState.map { (completion.job.id, $0) } : nil
        }
        guard !notices.isEmpty else { return }
        ended.withLock { $0 += notices }
        work.raise()
    }

    /// Wakes ``run(over:)``, whose task is cancelled.
    func stop() { work.raise() }

    /// Sends until its task is cancelled.
    func run(over database: Database) async {
        while !Task.isCancelled {
            await work.wait()
            try? await Task.sleep(for: Self.interval)
            let notices = ended.withLock { ended in
                defer { ended = [] }
                return ended
            }
            guard !notices.isEmpty else { continue }
            let statement = Statement(
                "select errand_internal.tell_ended_v1($1, $2)", [notices.map(\.id), notices.map(\.state)])
            if (try? await database.query(statement).scalar(Bool.self)) == false {
                try? await Task.sleep(for: Self.rest)
                ended.withLock { $0 = [] }
            }
        }
    }
}

extension Completion {
    /// The state in which it leaves its job; nil if the job goes on, or if only its guard knows.
    fileprivate var endState: String? {
        switch outcome {
        case .succeeded: job.options?.guardName == nil ? "succeeded" : nil
        case .failed: "failed"
        case .retried: job.attempt >= job.maxAttempts ? "failed" : nil
        case .cancelled: "cancelled"
        case .obsolete: "obsolete"
        case .snoozed, .released, .parked, .waiting: nil
        }
    }
}
