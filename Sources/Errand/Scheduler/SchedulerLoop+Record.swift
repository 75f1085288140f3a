import Logging
import Postgres

extension SchedulerLoop {
    /// The most ticks of several schedules in one transaction, which locks the schedules for some 10 ms.
    private static let sharedBatch = 100
    /// The most ticks of one schedule in one transaction.
    private static let batch = 500

    /// The ticks of one schedule that are due.
    private struct Due {
        /// The index in `known`.
        let index: Int
        let ticks: [CatchUp.Decision]
        /// The next tick after these.
        let next: Timestamp?
        let problem: String?
    }

    /// Records the due ticks of the schedules at these indices, several in one transaction.
    mutating func record(_ indices: [Int], at now: Timestamp) async throws {
        var batch: [Due] = []
        var ticks = 0
        for index in indices {
            let report = known[index].report(at: now)
            let due = Due(
                index: index, ticks: known[index].due(at: now), next: report.next, problem: report.problem)
            if !batch.isEmpty, ticks + due.ticks.count > Self.sharedBatch {
                try await record(batch, at: now)
                (batch, ticks) = ([], 0)
            }
            batch.append(due)
            ticks += due.ticks.count
        }
        if !batch.isEmpty { try await record(batch, at: now) }
    }

    private mutating func record(_ batch: [Due], at now: Timestamp) async throws {
        do {
            try await enqueue(batch, at: now)
        } catch let error as PostgresError {
            guard error.code == .rejected, !error.isTransient else { throw error }
            // One of them fails the transaction for all: record each alone.
            guard batch.count == 1 else {
                for due in batch { try await record([due], at: now) }
                return
            }
            let index = batch[0].index
            known[index].refused("its jobs are refused: \(error.detail)", until: .now + .seconds(30))
            logger.error(
                "schedule refused", metadata: ["schedule": "\(known[index].stored.name)", "error": "\(error)"])
            try await report([index], at: now)
        }
        for due in batch { dueFrom[due.index] = known[due.index].isDueFrom(at: now) }
    }

    /// Records a batch in one transaction, with the report of the next ticks. A single schedule may take several
    /// transactions.
    private mutating func enqueue(_ batch: [Due], at now: Timestamp) async throws {
        var rest = batch.flatMap { due in due.ticks.map { (due: due, tick: $0) } }[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Self.batch))
            rest = rest.dropFirst(Self.batch)
            let schedules = part.map { known[$0.due.index].stored }
            // Until the rest is recorded, the next tick is the first one of it. A status by a later one would hide it.
            let unrecorded = rest.first
            let next = part.map { $0.due.index == unrecorded?.due.index ? unrecorded?.tick.tick : $0.due.next }
            let rows = try await database.query(
                Statement(
                    "select index, is_recorded from errand_internal.record_ticks_v1($1, $2, $3, $4, $5, $6)",
                    [
                        schedules.map(\.name), schedules.map(\.version), part.map(\.tick.tick),
                        part.map(\.tick.outcome.rawValue), next, part.map(\.due.problem),
                    ]
                ).prepared)
            let recordedRows = try rows.map { try $0.decode(Int.self, Bool.self) }
            var recorded: [Int: (count: Int, last: Timestamp)] = [:]
            for (number, isOurs) in recordedRows {
                let (index, tick) = (part[number - 1].due.index, part[number - 1].tick)
                recorded[index] = ((recorded[index]?.count ?? 0) + 1, tick.tick)
                if isOurs { metrics?.recorded(tick, of: known[index].stored.name, at: now) }
            }
            var isAll = true
            for (index, asked) in Dictionary(grouping: part, by: \.due.index).mapValues(\.count) {
                let (count, last) = recorded[index].map { ($0.count, Optional($0.last)) } ?? (0, nil)
                known[index].recorded(through: last, isAll: count == asked)
                isAll = isAll && count == asked
            }
            // Another session has locked the schedule and records these ticks. If the rest were recorded here, these
            // might be skipped.
            if !isAll { return }
        }
    }
}

// MARK: - Reporting
extension SchedulerLoop {
    /// Stores what only a scheduler can compute: when these schedules tick next, or why they never do.
    func report(_ indices: [Int], at now: Timestamp) async throws {
        for first in stride(from: 0, to: indices.count, by: Self.batch) {
            let part = indices[first..<min(first + Self.batch, indices.count)]
            let schedules = part.map { known[$0].stored }
            let reports = part.map { known[$0].report(at: now) }
            try await database.execute(
                Statement(
                    """
                    select errand_internal.schedule_report_v1(schedule, version, next_tick, problem)
                    from unnest($1, $2, $3, $4) as report(schedule, version, next_tick, problem)
                    """,
                    [schedules.map(\.name), schedules.map(\.version), reports.map(\.next), reports.map(\.problem)]))
        }
    }
}
