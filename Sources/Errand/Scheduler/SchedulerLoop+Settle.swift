import Logging
import Postgres

extension SchedulerLoop {
    /// The most ticks of several schedules in one transaction: they are held as long as it takes, some 10 ms.
    private static let portion = 100
    /// The most ticks of one schedule in one transaction.
    private static let batch = 500

    /// The ticks of one schedule that are due.
    private struct Due {
        /// Among `known`.
        let place: Int
        let ticks: [CatchUp.Settled]
        /// When it ticks next, once they are settled.
        let next: Timestamp?
        let problem: String?
    }

    /// Settles what is due of the schedules at these places, several in one transaction.
    mutating func settle(_ places: [Int], at now: Timestamp) async throws {
        var portion: [Due] = []
        var ticks = 0
        for place in places {
            let report = known[place].report(at: now)
            let due = Due(
                place: place, ticks: known[place].due(at: now), next: report.next, problem: report.problem)
            if !portion.isEmpty, ticks + due.ticks.count > Self.portion {
                try await settle(portion, at: now)
                (portion, ticks) = ([], 0)
            }
            portion.append(due)
            ticks += due.ticks.count
        }
        if !portion.isEmpty { try await settle(portion, at: now) }
    }

    private mutating func settle(_ portion: [Due], at now: Timestamp) async throws {
        do {
            try await enqueue(portion, at: now)
        } catch let error as PostgresError {
            guard error.code == .rejected, !error.isTransient else { throw error }
            // One of them spoils it for all: each by itself, then.
            guard portion.count == 1 else {
                for due in portion { try await settle([due], at: now) }
                return
            }
            let place = portion[0].place
            known[place].refused("its jobs are refused: \(error.detail)", until: .now + .seconds(30))
            logger.error(
                "schedule refused", metadata: ["schedule": "\(known[place].stored.name)", "error": "\(error)"])
            try await report([place], at: now)
        }
        for due in portion { dueFrom[due.place] = known[due.place].isDueFrom(at: now) }
    }

    /// Settles a portion in one transaction, with the report of what comes next; one schedule alone in as many as it takes.
    private mutating func enqueue(_ portion: [Due], at now: Timestamp) async throws {
        var rest = portion.flatMap { due in due.ticks.map { (due: due, tick: $0) } }[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Self.batch))
            rest = rest.dropFirst(Self.batch)
            let schedules = part.map { known[$0.due.place].stored }
            let rows = try await database.query(
                Statement(
                    "select index, is_recorded from errand.record_ticks_v1($1, $2, $3, $4, $5, $6)",
                    [
                        schedules.map(\.name), schedules.map(\.version), part.map(\.tick.tick),
                        part.map(\.tick.outcome.rawValue), part.map(\.due.next), part.map(\.due.problem),
                    ]
                ).kept)
            let answers = try rows.map { try $0.decode(Int.self, Bool.self) }
            var settled: [Int: (count: Int, last: Timestamp)] = [:]
            for (number, isOurs) in answers {
                let (place, tick) = (part[number - 1].due.place, part[number - 1].tick)
                settled[place] = ((settled[place]?.count ?? 0) + 1, tick.tick)
                if isOurs { metrics?.settled(tick, of: known[place].stored.name, at: now) }
            }
            var isAll = true
            for (place, asked) in Dictionary(grouping: part, by: \.due.place).mapValues(\.count) {
                let (count, last) = settled[place].map { ($0.count, Optional($0.last)) } ?? (0, nil)
                known[place].settled(through: last, isAll: count == asked)
                isAll = isAll && count == asked
            }
            // Somebody else holds it and settles these. Were the rest settled here, these might be passed over.
            if !isAll { return }
        }
    }
}

// MARK: - Reporting
extension SchedulerLoop {
    /// Writes down what only a scheduler can compute: when these schedules tick next, or why they never will.
    func report(_ places: [Int], at now: Timestamp) async throws {
        for first in stride(from: 0, to: places.count, by: Self.batch) {
            let part = places[first..<min(first + Self.batch, places.count)]
            let schedules = part.map { known[$0].stored }
            let reports = part.map { known[$0].report(at: now) }
            try await database.execute(
                Statement(
                    """
                    select errand.schedule_report_v1(schedule, version, next_tick, problem)
                    from unnest($1, $2, $3, $4) as known(schedule, version, next_tick, problem)
                    """,
                    [schedules.map(\.name), schedules.map(\.version), reports.map(\.next), reports.map(\.problem)]))
        }
    }
}
