import Logging
import Postgres
import Synchronization

/// Compares all that this process holds with the jobs that run under its worker id. A job that two comparisons find
/// only in the database is taken back, since the process would never complete it.
///
/// It is separate from the heartbeat, which a lock on a job must not block. It asks nothing while there are no records
/// of claims from before the last heartbeat.
struct UnlistedJobs {
    let environment: ClaimEnvironment
    let queues: [QueueClaims]
    /// The positions of the jobs that the last comparison has found.
    private var found: [Int64] = []

    init(environment: ClaimEnvironment, queues: [QueueClaims]) {
        self.environment = environment
        self.queues = queues
    }

    mutating func run() async throws {
        // Before the list is made: then it has the jobs of all claims until here.
        let identity = environment.identity
        guard let generation = identity.generations.withLock(\.coveredBefore), let workerID = identity.current else {
            found = []
            return
        }
        // In the order in which a job passes, so that none is missed on its way.
        let held =
            environment.attempts.running.jobs
            + queues.flatMap { $0.held.state.withLock(\.completions.jobs) }
        let rows: Rows
        do {
            rows = try await environment.connections.control.query(
                Statement(
                    "select * from errand_internal.unlisted_jobs_v1($1, $2, $3, $4, $5)",
                    [workerID, generation, held.map(\.id), held.map(\.position), found]))
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            environment.logger.debug("the jobs are locked: compared again with the next heartbeat")
            return
        }
        found = []
        var taken: [Int64] = []
        for row in rows {
            let (id, position, isTakenBack) = try row.decode(Int64.self, Int64.self, Bool.self)
            if isTakenBack { taken.append(id) } else { found.append(position) }
        }
        guard !taken.isEmpty else { return }
        environment.logger.error(
            "jobs taken back that ran under this worker's id and that it held no more: please report it",
            metadata: ["jobs": .array(taken.map { .stringConvertible($0) })])
    }
}
