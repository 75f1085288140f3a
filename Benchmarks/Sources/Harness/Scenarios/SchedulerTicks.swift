import Benchmark
import Errand

/// How late the ticks of many schedules are enqueued by one process `errand scheduler`, as the ledger of ticks has it.
///
/// Half of the schedules are cron, once a minute, spread over the seconds. The others tick every 10 to 60 s, spread
/// over the milliseconds. So each second begins with a bunch, and between them ticks come one by one.
struct SchedulerTicks: Scenario {
    let schedules: Int
    /// Seconds.
    let duration: Int
    /// Seconds for which a session has held a snapshot when the measurement begins; nil for none.
    var held: Int?
    var name: String { held == nil ? "scheduler" : "scheduler-held" }
    let peers = Peers.none
    let isRepeated = false
    var about: String {
        "\(schedules) schedules and one scheduler: from each tick to its enqueue, for \(duration) s"
            + (held.map { ", after a snapshot was held for \($0) s" } ?? "")
    }
    /// It has enqueued nothing before, nor read its schedules.
    private let warmUp = 10
    var seconds: Double { Double(duration + warmUp + (held ?? 0)) + Double(schedules) / 500 }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            try await runDatabase.database.execute(Statement(Self.put, [schedules]))
            try await runDatabase.database.execute("vacuum analyze")
            try await context.cluster.checkpoint()
            return try await Service(["scheduler"], of: contender, in: context).running(on: runDatabase.url) {
                process in
                guard let held else { return ["": try await measure(process, in: context, runDatabase)] }
                return try await runDatabase.holding("select 1") {
                    try await Task.sleep(for: .seconds(held))
                    return ["": try await measure(process, in: context, runDatabase)]
                }
            }
        }
    }

    private func measure(_ process: Int, in context: RunContext, _ runDatabase: RunDatabase) async throws -> Values {
        try await Task.sleep(for: .seconds(warmUp))
        let (clock, begin) = (ContinuousClock(), try await Self.now(in: runDatabase))
        let start = clock.now
        let (server, scheduler) = (context.cluster.processorTime, Service.processorTime(of: process))
        try await Task.sleep(for: .seconds(duration))
        let end = try await Self.now(in: runDatabase)
        let microseconds = (clock.now - start) / .microseconds(1)
        let serverCost = context.cluster.processorTime - server
        let schedulerCost = Service.processorTime(of: process) - scheduler
        // The latest ticks count too, however late they are.
        try await Self.waitUntilRecorded(before: end, in: runDatabase)

        let latenesses = try await runDatabase.database.query(Statement(Self.latenesses, [begin, end])).column(
            0, as: Int.self)
        guard !latenesses.isEmpty else { throw BenchError("errand scheduler: no tick within \(duration) s") }
        var values = Latencies(microseconds: latenesses).values
        values[.rate] = Double(latenesses.count) / (microseconds / 1_000_000)
        values[.serverShare] = serverCost / microseconds * 100
        values[.workerShare] = schedulerCost / microseconds * 100
        values[.memory] = (ProcessFigures(of: process)?.memory.now ?? 0) / Double(1 << 20)
        return values
    }

    /// Microseconds since 1970 by the database, which is the clock of ticks.
    private static func now(in runDatabase: RunDatabase) async throws -> Int {
        try await runDatabase.database.query("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
            .scalar(Int.self)
    }

    private static func waitUntilRecorded(before end: Int, in runDatabase: RunDatabase) async throws {
        let limit = ContinuousClock.now + .seconds(60)
        while try await runDatabase.database.query(Statement(unrecorded, [end])).scalar(Bool.self) {
            guard .now < limit else { throw BenchError("errand scheduler: more than 60 s behind") }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    private static let put = """
        select count(errand.put_schedule(
            'bench-' || n,
            case n % 2
                when 0 then n / 2 % 60 || ' * * * * *'
                else 'every ' || 10000 + n * 5 % 50000 || ' ms'
            end,
            'noop'))
        from generate_series(1, $1::int) as n
        """

    /// Whether a tick before $1 isn't recorded: the scheduler says of each schedule when it ticks next.
    private static let unrecorded = """
        select exists (
            select from errand.schedules
            where next_tick is null or next_tick < to_timestamp($1::bigint / 1000000.0))
        """

    /// By when they were due, so that none is left out for being late.
    private static let latenesses = """
        select (extract(epoch from lateness) * 1000000)::bigint
        from errand.schedule_ticks
        where tick >= to_timestamp($1::bigint / 1000000.0) and tick < to_timestamp($2::bigint / 1000000.0)
        """
}
