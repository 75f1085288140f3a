import Postgres

/// One claim: its statement, and what comes back.
struct Claim {
    var queue: String
    var kinds: [String]
    var workerID: Int64
    var limit: Int
    /// Behind which position each priority is read: ``LowWaterMark/starts``.
    var starts: [Int64]
    /// The order in which priorities are read.
    var priorities: [Int]
    /// False where the claim commits by itself: losing it in a server crash costs nothing, so it need not wait for
    /// disk.
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
            "select * from errand.claim_v1($1, $2, $3, $4::int4, $5, $6, $7, $8::int4, $9, $10, $11)",
            [
                queue, kinds, workerID, limit, starts, priorities.map(Int16.init), isDurable, min(beginsNow, limit),
                takesSuspect, epoch, takesTurn,
            ]
        ).kept
    }

    struct Reply {
        var jobs: [ClaimedJob] = []
        /// Completions of jobs that were claimed and can't be read.
        var unreadable: [Completion] = []
        /// Nil where the queue is paused or the lease is lost: nothing was read, so nothing may be concluded.
        var observation: LowWaterMark.Observation?
        var rest: Rest?

        /// How many jobs were claimed.
        var count: Int { jobs.count + unreadable.count }
    }

    /// What a claim has left in the queue for the next one.
    enum Rest: String {
        /// Jobs that may be claimed at once.
        case more
        /// Jobs that are claimed only for a slot that is free.
        case slots
    }

    func reply(_ rows: Rows) throws -> Reply {
        guard let first = rows.first else { return Reply() }
        let firstID = try first.decode(Int64?.self)
        let (high, latest, snapshot, asked, rest) = try first.decode(
            from: JobColumns.count, Int64.self, Int64.self, Snapshot.self, Int.self, String?.self)
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
        var positions = [[Int64]](repeating: [], count: 4)
        // Jobs that were released for this claim stand behind all others: they don't say up to where it has read.
        for job in jobs where job.position <= high {
            positions[job.priority - 1].append(job.position)
        }
        // The queue's rate may have had room for fewer than the limit.
        let isFull = jobs.count + unreadable.count == asked
        let isUnclear = isFull && positions.allSatisfy(\.isEmpty)
        return Reply(
            jobs: jobs, unreadable: unreadable,
            observation: .init(
                // The priority of a job that can't be read isn't known, so nothing may be concluded.
                high: unreadable.isEmpty && !isUnclear ? high : 0, latest: UInt64(latest), xmax: snapshot.xmax,
                running: snapshot.running, positions: positions,
                isFull: isFull, priorities: priorities, starts: starts),
            rest: rest.flatMap(Rest.init))
    }

    /// As they are to begin: by priority, then by position. The server returns them as they lie in the table.
    private func inOrder(_ jobs: [ClaimedJob]) -> [ClaimedJob] {
        var ranks = [0, 0, 0, 0, 0]
        for (rank, priority) in priorities.enumerated() { ranks[priority] = rank }
        func isBefore(_ one: ClaimedJob, _ other: ClaimedJob) -> Bool {
            one.priority == other.priority
                ? one.position < other.position : ranks[one.priority] < ranks[other.priority]
        }
        let isInOrder = zip(jobs, jobs.dropFirst()).allSatisfy(isBefore)
        return isInOrder ? jobs : jobs.sorted(by: isBefore)
    }

    private func jobs(_ rows: Rows) throws -> [ClaimedJob] {
        try JobColumns(rows).jobs(queue: queue, workerID: workerID, epoch: epoch)
    }

    /// Row by row, where one can't be read: that one fails alone.
    private func oneByOne(_ rows: Rows) throws -> (jobs: [ClaimedJob], unreadable: [Completion]) {
        var (jobs, unreadable): ([ClaimedJob], [Completion]) = ([], [])
        for index in rows.indices {
            // Without these there is no way to say what failed.
            let (id, position, kind) = try rows[index].decode(Int64.self, Int64.self, String?.self)
            do {
                jobs += try self.jobs(rows.only(index))
            } catch {
                unreadable.append(failed(id, position: position, kind: kind, error))
            }
        }
        return (jobs, unreadable)
    }

    /// The completion of a job whose row can't be read.
    private func failed(_ id: Int64, position: Int64, kind: String?, _ error: any Error) -> Completion {
        let job = ClaimedJob(
            id: id, position: position, kind: JobKind(rawValue: kind ?? ""), queue: queue, priority: 1, attempt: 1,
            maxAttempts: 1, createdAt: .minusInfinity, runAt: .minusInfinity, startedAt: .minusInfinity,
            payload: JSONB("null"), options: nil, workerID: workerID, epoch: epoch)
        let reason = "the job's row can't be read: \(Self.reason(error))"
        return Completion(job: job, result: .failed(error: reason), took: .zero)
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
