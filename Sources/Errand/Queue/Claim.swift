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
            "select * from errand.claim_v1($1, $2, $3, $4::int4, $5, $6, $7)",
            [queue, kinds, workerID, limit, starts, lanes.map(Int16.init), isDurable])
    }

    struct Answer {
        var jobs: [ClaimedJob] = []
        /// Nil where the queue is paused or the lease is lost: nothing was read, so nothing may be concluded.
        var observation: LowWaterMark.Observation?
    }

    func answer(_ rows: Rows) throws -> Answer {
        guard let first = rows.first else { return Answer() }
        let (firstID, _, _, _, _, _, _, _, _, _, high, latest, snapshot) = try first.decode(
            Int64?.self, Int64?.self, String?.self, Int16?.self, Int16?.self, Int16?.self, Timestamp?.self,
            Timestamp?.self, Timestamp?.self, JSONB?.self, Int64.self, Int64.self, Snapshot.self)
        var lines = [[Int64]](repeating: [], count: 4)
        var jobs: [ClaimedJob] = []
        jobs.reserveCapacity(rows.count)
        // One row of nulls: nothing was due.
        for row in rows where firstID != nil {
            let (id, line, kind, attempt, maxAttempts, priority, createdAt, runAt, startedAt, payload) = try row.decode(
                Int64.self, Int64.self, String.self, Int16.self, Int16.self, Int16.self, Timestamp.self, Timestamp.self,
                Timestamp.self, JSONB.self)
            lines[Int(priority) - 1].append(line)
            jobs.append(
                ClaimedJob(
                    id: id, line: line, kind: JobKind(rawValue: kind), queue: queue, attempt: Int(attempt),
                    maxAttempts: Int(maxAttempts), createdAt: createdAt, runAt: runAt, startedAt: startedAt,
                    payload: payload, workerID: workerID))
        }
        return Answer(
            jobs: jobs,
            observation: .init(
                high: high, latest: UInt64(latest), xmax: snapshot.xmax, running: snapshot.running, lines: lines,
                isFull: jobs.count == limit,
                lanes: lanes))
    }
}
