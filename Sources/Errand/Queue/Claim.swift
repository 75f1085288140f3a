import Postgres

/// One claim: its statement, and what comes back.
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

    /// How many of the jobs begin at once. Jobs that count what they were charged with are claimed only for that.
    var beginsNow: Int
    /// Whether one may come that was running in a crash of its worker.
    var takesSuspect: Bool
    /// The epoch of its record: see ``ClaimEpochs``.
    var epoch: Int32
    /// Whether it waits until no other large claim is under way, on any worker.
    var takesTurn = false

    var statement: Statement {
        Statement(
            "select * from errand.claim_v2($1, $2, $3, $4::int4, $5, $6, $7, $8::int4, $9, $10, $11)",
            [
                queue, kinds, workerID, limit, starts, lanes.map(Int16.init), isDurable, min(beginsNow, limit),
                takesSuspect, epoch, takesTurn,
            ]
        ).kept
    }

    struct Reply {
        var jobs: [ClaimedJob] = []
        /// Jobs that were claimed and can't be read: their ends.
        var unreadable: [Completion] = []
        /// Nil where the queue is paused or the lease is lost: nothing was read, so nothing may be concluded.
        var observation: LowWaterMark.Observation?
        var rest: Rest?

        /// How many jobs were claimed.
        var count: Int { jobs.count + unreadable.count }
    }

    /// What a claim has left in line for the next one.
    enum Rest: String {
        /// Jobs that may be claimed at once.
        case more
        /// Jobs that are claimed only for a slot that is free.
        case slots
    }

    func reply(_ rows: Rows) throws -> Reply {
        guard let first = rows.first else { return Reply() }
        let (firstID, _, _, _, _, _, _, _, _, _, _, _, high, latest, snapshot, asked, rest) = try first.decode(
            Int64?.self, Ignored.self, Ignored.self, Ignored.self, Ignored.self, Ignored.self, Ignored.self,
            Ignored.self, Ignored.self, Ignored.self, Ignored.self, Ignored.self, Int64.self, Int64.self, Snapshot.self,
            Int.self, String?.self)
        // One row of nulls: nothing was due.
        var (jobs, unreadable): ([ClaimedJob], [Completion]) = ([], [])
        if firstID != nil {
            do {
                jobs = try self.jobs(rows)
            } catch {
                (jobs, unreadable) = try oneByOne(rows)
            }
        }
        jobs = inOrder(jobs)
        var lines = [[Int64]](repeating: [], count: 4)
        // Jobs that were released for this claim stand behind all others: they don't say up to where it has read.
        for job in jobs where job.line <= high { lines[job.priority - 1].append(job.line) }
        // The queue's rate may have had room for fewer than the limit.
        let isFull = jobs.count + unreadable.count == asked
        let isUnclear = isFull && lines.allSatisfy(\.isEmpty)
        return Reply(
            jobs: jobs, unreadable: unreadable,
            observation: .init(
                // The priority of a job that can't be read isn't known, so nothing may be concluded.
                high: unreadable.isEmpty && !isUnclear ? high : 0, latest: UInt64(latest), xmax: snapshot.xmax,
                running: snapshot.running, lines: lines,
                isFull: isFull, lanes: lanes, starts: starts),
            rest: rest.flatMap(Rest.init))
    }

    /// As they are to begin: by priority, then by position. The server returns them as they lie in the table.
    private func inOrder(_ jobs: [ClaimedJob]) -> [ClaimedJob] {
        var ranks = [0, 0, 0, 0, 0]
        for (rank, lane) in lanes.enumerated() { ranks[lane] = rank }
        func isBefore(_ one: ClaimedJob, _ other: ClaimedJob) -> Bool {
            one.priority == other.priority
                ? one.line < other.line : ranks[one.priority] < ranks[other.priority]
        }
        let isInOrder = zip(jobs, jobs.dropFirst()).allSatisfy(isBefore)
        return isInOrder ? jobs : jobs.sorted(by: isBefore)
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
        let crashes = try rows.column(11, as: Int16.self)
        return try rows.indices.map { row in
            ClaimedJob(
                id: ids[row], line: lines[row], kind: JobKind(rawValue: kinds[row]), queue: queue,
                priority: Int(priorities[row]), attempt: Int(attempts[row]), maxAttempts: Int(maxAttempts[row]),
                crashes: Int(crashes[row]), createdAt: createdAt[row], runAt: runAt[row], startedAt: startedAt[row],
                payload: payloads[row], options: try options[row]?.decode(JobOptions.self), workerID: workerID,
                epoch: epoch)
        }
    }

    /// Row by row, where one can't be read: that one fails alone.
    private func oneByOne(_ rows: Rows) throws -> (jobs: [ClaimedJob], unreadable: [Completion]) {
        var (jobs, unreadable): ([ClaimedJob], [Completion]) = ([], [])
        for row in rows {
            // Without these there is no way to say what failed.
            let (id, line, kind) = try row.decode(Int64.self, Int64.self, String?.self)
            do {
                jobs.append(try job(row))
            } catch {
                let job = ClaimedJob(
                    id: id, line: line, kind: JobKind(rawValue: kind ?? ""), queue: queue, priority: 1, attempt: 1,
                    maxAttempts: 1, createdAt: .minusInfinity, runAt: .minusInfinity, startedAt: .minusInfinity,
                    payload: JSONB("null"), options: nil, workerID: workerID, epoch: epoch)
                unreadable.append(
                    Completion(
                        job: job, result: .failed(error: "the job's row can't be read: \(Self.reason(error))"),
                        took: .zero))
            }
        }
        return (jobs, unreadable)
    }

    private func job(_ row: Row) throws -> ClaimedJob {
        let (id, line, kind, attempt, maxAttempts, priority, createdAt, runAt, startedAt, payload, options, crashes) =
            try row.decode(
                Int64.self, Int64.self, String.self, Int16.self, Int16.self, Int16.self, Timestamp.self, Timestamp.self,
                Timestamp.self, JSONB.self, JSONB?.self, Int16.self)
        return ClaimedJob(
            id: id, line: line, kind: JobKind(rawValue: kind), queue: queue, priority: Int(priority),
            attempt: Int(attempt), maxAttempts: Int(maxAttempts), crashes: Int(crashes), createdAt: createdAt,
            runAt: runAt, startedAt: startedAt, payload: payload, options: try options?.decode(JobOptions.self),
            workerID: workerID, epoch: epoch)
    }

    /// What can't be read, without its value.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as PostgresError: error.detail
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
            "\((["options"] + context.codingPath.map(\.stringValue)).joined(separator: ".")): \(context.debugDescription)"
        default: "\(type(of: error))"
        }
    }
}

/// A column that is not read.
private struct Ignored: PostgresDecodable {
    static func reads(_ type: UInt32) -> Bool { true }
    init(column bytes: UnsafeRawBufferPointer?, type: UInt32) {}
}
