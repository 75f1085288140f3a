import Postgres

/// Checks of the database after a walk, beyond the model's rules.
struct WalkCheck {
    let database: Database
    let record: WalkRecord

    private struct Result: Decodable {
        var id: Int64
        var was: String?
        var now: String?
    }

    func faults(isDrained: Bool) async throws -> [WalkFault] {
        let heard = record.with { $0 }
        let events = try await WalkLog.events(in: database)
        var model = WalkModel(acknowledged: heard.acknowledged, orderlyQueue: "orderly")
        model.meter = RandomWalk.meter
        model.meter?.end = heard.unmetered
        for event in events { model.apply(event) }
        model.end()
        for text in heard.surprises { model.report(0, text) }
        try await checkOperations(&model, heard)
        try await checkRelations(&model, isDrained)
        try await checkSchedules(&model)
        for fault in try await database.faultsOfBatches() { model.report(0, fault) }
        try await checkCounts(&model, events, heard.kills)
        return model.faults
    }

    /// Acknowledged transactions exist, rolled back ones don't, and each returned its effect.
    private func checkOperations(_ model: inout WalkModel, _ heard: WalkRecord.State) async throws {
        var done: Set<Int64> = []
        for row in try await database.query("select number, words, results from walk.done") {
            let (number, words, results) = try row.decode(Int64.self, String.self, JSONB?.self)
            done.insert(number)
            for result in try results?.decode([Result].self) ?? [] {
                model.checkResult(
                    of: number, id: result.id, before: result.was, after: result.now, words: "\(words) (\(number))")
            }
        }
        for number in heard.acknowledged.keys where !done.contains(number) {
            model.report(0, "transaction \(number) was acknowledged and is lost")
        }
        for number in heard.rolledBack where done.contains(number) {
            model.report(0, "transaction \(number) was rolled back and is there")
        }
    }

    /// Each job is once in the table that the model has for it.
    private func checkRelations(_ model: inout WalkModel, _ isDrained: Bool) async throws {
        var relations: [Int64: [String]] = [:]
        let rows = try await database.query(
            """
            select id, 'job', state from errand.job union all select id, 'history', state from errand.history
            union all select id, 'failed', 'failed' from errand.failed
            """)
        for row in rows {
            let (id, relation, state) = try row.decode(Int64.self, String.self, String.self)
            relations[id, default: []].append("\(relation) \(state)")
            if relation == "job", !isDrained { model.report(id, "it did not end: \(state)") }
        }
        let known = model.jobs.mapValues { ["\($0.relation.rawValue) \($0.state)"] }
        for id in Set(relations.keys).union(known.keys) where relations[id] != known[id] {
            model.report(id, "expected it in \(known[id] ?? []), got \(relations[id] ?? [])")
        }
    }

    private func checkSchedules(_ model: inout WalkModel) async throws {
        let rows = try await database.query(
            """
            select coalesce(job_id, 0), count(*)
            from errand.tick
            where outcome in ('enqueued', 'late', 'by hand')
            group by job_id
            """)
        for row in rows {
            let (id, ticks) = try row.decode(Int64.self, Int.self)
            if model.histories[id] == nil { model.report(id, "a tick names it, and it never was") }
            if ticks > 1 { model.report(id, "\(ticks) ticks name it") }
        }
    }

    /// The counts of attempts that succeeded in programs are those that did, but for what was about to be counted where
    /// something was killed.
    private func checkCounts(_ model: inout WalkModel, _ events: [WalkEvent], _ kills: [Int64]) async throws {
        let succeeded = events.filter {
            $0.relation == .history && $0.action == .insert && $0.state == "succeeded" && $0.cause == .program
        }
        let uncertain = succeeded.filter { end in kills.contains { abs($0 - end.at) < 3_000_000 } }.count
        let counted = try await database.query(
            "select coalesce(sum(jobs), 0)::int8 from errand.finished_per_minute where outcome = 'succeeded'"
        ).scalar(Int.self)
        if abs(counted - succeeded.count) > uncertain {
            model.report(
                0, "\(succeeded.count) attempts succeeded, \(counted) are counted (\(uncertain) are uncertain)")
        }
        try await database.execute("select errand_internal.update_statistics()")
        let statistics = try await database.query(
            "select coalesce(sum(jobs) filter (where state = 'failed'), 0)::int8 from errand.job_count"
        ).scalar(Int.self)
        let failed = model.jobs.values.filter { $0.relation == .failed }.count
        if statistics != failed { model.report(0, "\(failed) jobs have failed, the statistics say \(statistics)") }
    }
}
