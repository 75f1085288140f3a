import Postgres

/// One claim: its statement, and what the answer says.
struct Claim {
    var queue: String
    var kinds: [String]
    var workerID: Int64
    var limit: Int
    /// Behind which line each priority is read: ``LowWaterMark/starts``.
    var starts: [Int64]
    /// The order in which priorities are read.
    var lanes: [Int]
    /// False where the claim commits by itself: losing it in a server crash costs nothing, so it need not wait for disk.
    var isDurable: Bool

    var statement: Statement {
        Statement(
            "select * from errand.claim_v2($1, $2, $3, $4::int4, $5, $6, $7)",
            [queue, kinds, workerID, limit, starts, lanes.map(Int16.init), isDurable]
        ).kept
    }

    struct Answer {
        var jobs: [ClaimedJob] = []
        /// Nil where the queue is paused or the lease is lost: nothing was read, so nothing may be concluded.
        var observation: LowWaterMark.Observation?
    }

    func answer(_ rows: Rows) throws -> Answer {
        guard let first = rows.first else { return Answer() }
        let (firstID, _, _, _, _, _, _, _, _, _, _, high, latest, snapshot, asked) = try first.decode(
            Int64?.self, Int64?.self, String?.self, Int16?.self, Int16?.self, Int16?.self, Timestamp?.self,
            Timestamp?.self, Timestamp?.self, JSONB?.self, JSONB?.self, Int64.self, Int64.self, Snapshot.self,
            Int.self)
        // One row of nulls: nothing was due.
        let jobs = firstID == nil ? [] : try jobs(rows)
        var lines = [[Int64]](repeating: [], count: 4)
        for job in jobs { lines[job.priority - 1].append(job.line) }
        return Answer(
            jobs: jobs,
            observation: .init(
                high: high, latest: UInt64(latest), xmax: snapshot.xmax, running: snapshot.running, lines: lines,
                // The queue's rate may have had room for fewer.
                isFull: jobs.count == asked, lanes: lanes, starts: starts))
    }

    /// Column by column: a claim is the one statement whose rows are many all the time.
    private func jobs(_ rows: Rows) throws -> [ClaimedJob] {
        let ids = try rows.column(0, as: Int64.self)
        let lines = try rows.column(1, as: Int64.self)
        let kinds = try rows.column(2, as: String.self)
        let attempts = try rows.column(3, as: Int16.self)
        let maxAttempts = try rows.column(4, as: Int16.self)
        let priorities = try rows.column(5, as: Int16.self)
        let createdAt = try rows.column(6, as: Timestamp.self)
        let runAt = try rows.column(7, as: Timestamp.self)
        let startedAt = try rows.column(8, as: Timestamp.self)
        let payloads = try rows.column(9, as: JSONB.self)
        let options = try rows.column(10, as: JSONB?.self)
        return try rows.indices.map { row in
            ClaimedJob(
                id: ids[row], line: lines[row], kind: JobKind(rawValue: kinds[row]), queue: queue,
                priority: Int(priorities[row]), attempt: Int(attempts[row]), maxAttempts: Int(maxAttempts[row]),
                createdAt: createdAt[row], runAt: runAt[row], startedAt: startedAt[row], payload: payloads[row],
                options: try options[row]?.decode(JobOptions.self), workerID: workerID)
        }
    }
}
