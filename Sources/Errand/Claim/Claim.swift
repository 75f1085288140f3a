import Postgres

/// A claim: its statement and its reply.
struct Claim {
    var queue: String
    var kinds: [String]
    var workerID: Int64
    var limit: Int
    /// The position behind which each priority is read: ``LowWaterMark/starts``.
    var starts: [Int64]
    /// The order in which priorities are read.
    var priorities: [Int]
    /// False if the claim commits alone. Losing it in a server crash costs nothing, so it doesn't wait for the disk.
    var isDurable: Bool

    /// How many of the jobs begin at once. Jobs with an attempt at risk, such as a last one, are claimed only if they
    /// begin at once.
    var beginsNow: Int
    /// Whether the claim may return a job that was running in a crash of its worker.
    var takesCrashed: Bool
    /// The generation of its record: see ``ClaimGenerations``.
    var generation: Int32
    /// Whether the claim waits until no other large claim runs, on any worker.
    var isSerialized = false
    /// The limits in which completions of the same round trip free slots.
    var limitsToRelease: Set<String> = []

    var statement: Statement {
        Statement(
            "select * from errand_internal.claim_v1($1, $2, $3, $4::int4, $5, $6, $7, $8::int4, $9, $10, $11, $12)",
            [
                queue, kinds, workerID, limit, starts, priorities.map(Int16.init), isDurable, min(beginsNow, limit),
                takesCrashed, generation, isSerialized, limitsToRelease.isEmpty ? nil : limitsToRelease.sorted(),
            ]
        ).prepared
    }

    struct Reply {
        var jobs: [ClaimedJob] = []
        /// Failed completions for claimed jobs whose rows can't be read.
        var unreadable: [Completion] = []
        /// Nil if nothing was read: the queue is paused, its rate has no room or is locked, the worker is drained, or
        /// the lease is lost.
        var observation: LowWaterMark.Observation?
        var rest: Rest?
        /// The time until the queue's rate has room; nil if it has room, or the queue has no rate.
        var roomIn: Duration?

        /// How many jobs were claimed.
        var count: Int { jobs.count + unreadable.count }
    }

    /// What a claim has left in the queue.
    enum Rest: String {
        /// More jobs that may be claimed at once.
        case more
        /// Jobs that are claimed only for a free slot.
        case slots
    }

    func reply(_ rows: Rows) throws -> Reply {
        guard let first = rows.first else { return Reply() }
        let firstID = try first.decode(Int64?.self)
        let (high, latest, snapshot, asked, rest, roomInUs) = try first.decode(
            from: JobColumns.count, Int64.self, Int64.self, Snapshot.self, Int.self, String?.self, Int64?.self)
        let roomIn = roomInUs.map { Duration.microseconds($0) }
        if asked == 0 { return Reply(roomIn: roomIn) }
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
        // Jobs that were released for this claim are behind all others. Their positions don't show how far the claim
        // has read.
        for job in jobs where job.position <= high {
            positions[job.priority - 1].append(job.position)
        }
        // The queue's rate may have had room for fewer than the limit.
        let isFull = jobs.count + unreadable.count == asked
        let isUnclear = isFull && positions.allSatisfy(\.isEmpty)
        return Reply(
            jobs: jobs, unreadable: unreadable,
            observation: .init(
                // The priority of an unreadable job isn't known, so the claim is inconclusive.
                high: unreadable.isEmpty && !isUnclear ? high : 0, latest: UInt64(latest), xmax: snapshot.xmax,
                running: snapshot.running, positions: positions,
                isFull: isFull, priorities: priorities, starts: starts),
            rest: rest.flatMap(Rest.init), roomIn: roomIn)
    }

    /// In the order in which they begin: by priority, then by position. The server returns them in the table's order.
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
        try JobColumns(rows).jobs(queue: queue, workerID: workerID, generation: generation)
    }

    /// Reads row by row, so that an unreadable row fails alone.
    private func oneByOne(_ rows: Rows) throws -> (jobs: [ClaimedJob], unreadable: [Completion]) {
        var (jobs, unreadable): ([ClaimedJob], [Completion]) = ([], [])
        for index in rows.indices {
            // These columns identify the job that failed.
            let (id, position, kind) = try rows[index].decode(Int64.self, Int64.self, String?.self)
            do {
                jobs += try self.jobs(rows.only(index))
            } catch {
                unreadable.append(failed(id, position: position, kind: kind, error))
            }
        }
        return (jobs, unreadable)
    }

    /// The failed completion of a job whose row can't be read.
    private func failed(_ id: Int64, position: Int64, kind: String?, _ error: any Error) -> Completion {
        let job = ClaimedJob(
            id: id, position: position, kind: JobKind(rawValue: kind ?? ""), queue: queue, priority: 1, attempt: 1,
            maxAttempts: 1, createdAt: .minusInfinity, runAt: .minusInfinity, startedAt: .minusInfinity,
            payload: JSONB("null"), options: nil, workerID: workerID, generation: generation)
        let reason = "the job's row can't be read: \(Self.reason(error))"
        return .failed(job, error: reason)
    }

    /// Which column can't be read, without its value.
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

/// Reads claimed jobs column by column, which is faster for many rows.
package struct JobColumns {
    /// The columns, in the order in which errand_internal.claim_v1 returns them, for queries of errand.job.
    package static let sql = """
        id, queue_position, kind, attempt, max_attempts, priority, created_at, run_at, started_at,
        coalesce(payload, errand_internal.large_payload(payload_day, id)), nullif(errand_internal.job_options(job), '{}'), crashes
        """
    package static let count: Int32 = 12

    private let ids: [Int64]
    private let positions: [Int64]
    private let kinds: [String]
    private let attempts: [Int16]
    private let maxAttempts: [Int16]
    private let priorities: [Int16]
    private let createdAt: [Timestamp]
    private let runAt: [Timestamp]
    private let startedAt: [Timestamp]
    private let payloads: [JSONB]
    private let options: [JSONB?]
    private let crashes: [Int16]

    package init(_ rows: Rows) throws(PostgresError) {
        ids = try rows.column(0, as: Int64.self)
        positions = try rows.column(1, as: Int64.self)
        kinds = try rows.column(2, as: String.self)
        attempts = try rows.column(3, as: Int16.self)
        maxAttempts = try rows.column(4, as: Int16.self)
        priorities = try rows.column(5, as: Int16.self)
        createdAt = try rows.column(6, as: Timestamp.self)
        runAt = try rows.column(7, as: Timestamp.self)
        startedAt = try rows.column(8, as: Timestamp.self)
        payloads = try rows.column(9, as: JSONB.self)
        options = try rows.column(10, as: JSONB?.self)
        crashes = try rows.column(11, as: Int16.self)
    }

    /// The jobs, as claimed by a worker id.
    ///
    /// - Throws: a `DecodingError` for options that can't be read.
    package func jobs(queue: String, workerID: Int64, generation: Int32) throws -> [ClaimedJob] {
        // Followed jobs of one login have equal options: a decoder takes 5 us a job.
        var last: (stored: JSONB, read: JobOptions)?
        return try ids.indices.map { row in
            if let stored = options[row], stored != last?.stored { last = (stored, try stored.decode(JobOptions.self)) }
            return ClaimedJob(
                id: ids[row], position: positions[row], kind: JobKind(rawValue: kinds[row]), queue: queue,
                priority: Int(priorities[row]), attempt: Int(attempts[row]), maxAttempts: Int(maxAttempts[row]),
                crashes: Int(crashes[row]), createdAt: createdAt[row], runAt: runAt[row], startedAt: startedAt[row],
                payload: payloads[row], options: options[row] == nil ? nil : last?.read, workerID: workerID,
                generation: generation)
        }
    }
}
