import Postgres

extension Queue {
    /// Enqueues many jobs of one kind, all or none: 100,000 in a call and more. A unique key can't be chosen here.
    ///
    /// They are sent in batches of up to 10,000 jobs and 8 MB, in one transaction. A batch is one statement with an
    /// array: COPY into a temporary table took twice as long. While the server works on one batch, the next one is
    /// encoded.
    ///
    /// - Returns: their ids, in the order of `jobs`.
    /// - Throws: as for one job.
    /// - Complexity: about 7 µs a job in the database, twice that with options that only some jobs have: a last moment,
    ///   a limit, a guard, tags, a trace, a subject.
    @discardableResult
    public func enqueue<J: Job>(all jobs: [J], _ options: EnqueueOption...) async throws -> [Int64] {
        let values = EnqueueOption.values(of: options)
        return try await database.transaction { try await enqueueAll(jobs, values, in: $0) }
    }

    /// Enqueues many jobs of one kind in the caller's transaction: they exist if and when that commits.
    @discardableResult
    public func enqueue<J: Job>(
        all jobs: [J], in transaction: Transaction, _ options: EnqueueOption...
    ) async throws -> [Int64] {
        try await enqueueAll(jobs, EnqueueOption.values(of: options), in: transaction)
    }

    private func enqueueAll<J: Job>(
        _ jobs: [J], _ values: EnqueueOption.Values, in transaction: Transaction
    ) async throws -> [Int64] {
        precondition(values.uniqueKey == nil, "unique: a key names one job; enqueue these one by one")
        var ids: [Int64] = []
        ids.reserveCapacity(jobs.count)
        let defaults = try J.policy.kindDefaults(of: J.kind)
        var rest = jobs[...]
        var next = try takeBatch(of: &rest)
        while !next.isEmpty {
            let batch = next
            async let batchIDs = Self.enqueue(batch, of: J.kind, defaults, values, in: transaction)
            // The next batch is encoded while the server works on this one. An encoding error is thrown only after this
            // batch is done.
            let encoded = Result { try takeBatch(of: &rest) }
            ids += try await batchIDs
            next = try encoded.get()
        }
        return ids
    }

    /// As many jobs as one statement takes; empty if none is left.
    private func takeBatch(of jobs: inout ArraySlice<some Job>) throws -> [JSONB] {
        var batch: [JSONB] = []
        var bytes = 0
        while batch.count < 10_000, let job = jobs.first {
            let payload = try middleware.encoded(job)
            bytes += payload.bytes.count
            if !batch.isEmpty, bytes > 8 << 20 { break }
            batch.append(payload)
            jobs.removeFirst()
        }
        return batch
    }

    private static func enqueue(
        _ payloads: [JSONB], of kind: JobKind, _ defaults: JSONB?, _ values: EnqueueOption.Values,
        in transaction: Transaction
    ) async throws -> [Int64] {
        let statement =
            try values.needsWholeForm
            ? whole(payloads, kind, defaults, values) : short(payloads, kind, defaults, values)
        return try await transaction.query(statement).scalar([Int64].self)
    }

    private static func short(
        _ payloads: [JSONB], _ kind: JobKind, _ defaults: JSONB?, _ values: EnqueueOption.Values
    ) -> Statement {
        Statement(
            """
            select errand.enqueue_payloads_v1(
                $1, $2, $3, coalesce($4, now() + $5 * interval '1 microsecond'), $6::int4, $7::int4, $8)
            """,
            [
                kind.rawValue, payloads, values.queue, values.runAt, values.delay?.wholeMicroseconds, values.priority,
                values.maxAttempts, defaults,
            ]
        ).prepared
    }

    private static func whole(
        _ payloads: [JSONB], _ kind: JobKind, _ defaults: JSONB?, _ values: EnqueueOption.Values
    ) throws -> Statement {
        Statement(
            """
            select array_agg(job_id order by ordinal)
            from errand.enqueue_many((
                select jsonb_agg(shared || jsonb_build_object('payload', payload) order by ordinal)
                from unnest($2::jsonb[]) with ordinality as one(payload, ordinal), jsonb_strip_nulls(jsonb_build_object(
                    'kind', $1, 'queue', $3, 'run_at', coalesce($4, now() + $5 * interval '1 microsecond'),
                    'priority', $6::int4, 'max_attempts', $7::int4, 'not_after', $8, 'limit_key', $9, 'guard', $10,
                    'tags', $11, 'subject', $12, 'options', $13::jsonb, 'follow', $14::boolean,
                    'kind_defaults', $15::jsonb, 'after', $16::bigint[], 'if_parent_fails', $17::text,
                    'rate_key', $18::text, 'order_key', $19::text, 'if_head_fails', $20::text,
                    'batch', $21::bigint)) as shared))
            """,
            [
                kind.rawValue, payloads, values.queue, values.runAt, values.delay?.wholeMicroseconds, values.priority,
                values.maxAttempts, values.notAfter, values.limitKey, values.guardName, values.tags, values.subject,
                try values.options, values.follow, defaults, values.parents.isEmpty ? nil : values.parents,
                values.parents.isEmpty ? nil : values.ifParentFails.rawValue, values.rateKey,
                values.orderKey, values.ifHeadFails?.rawValue, values.batch,
            ])
    }
}
