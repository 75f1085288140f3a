import Benchmark
import Errand

/// How late the ticks of many schedules are enqueued by one process `errand scheduler`, as the ledger of ticks has it.
///
/// Half of the schedules are cron, one a minute each, spread over the seconds; the others tick every 10 to 60 s, spread over
/// the milliseconds. So each second begins with a bunch, and between them ticks come one by one.
struct SchedulerTicks: Scenario {
    let schedules: Int
    /// Seconds.
    let duration: Int
    let name = "scheduler"
    let peers = Peers.none
    let comparesCommits = false
    let isRepeated = false
    var about: String { "\(schedules) schedules and one scheduler: from each tick to its enqueue, for \(duration) s" }
    /// It has put nothing in line before, nor read its schedules.
    private let warmUp = 10
    var seconds: Double { Double(duration + warmUp) + Double(schedules) / 500 }

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        try await arena.withDatabase(for: contender) { place in
            try await place.database.execute(Statement(Self.put, [schedules]))
            try await place.database.execute("vacuum analyze")
            try await arena.cluster.checkpoint()
            return try await Service(["scheduler"], of: contender, in: arena).running(on: place.url) { process in
                ["": try await measure(process, in: arena, place)]
            }
        }
    }

    private func measure(_ process: Int, in arena: Arena, _ place: Place) async throws -> Values {
        try await Task.sleep(for: .seconds(warmUp))
        let (clock, begin) = (ContinuousClock(), try await Self.now(in: place))
        let start = clock.now
        let (server, scheduler) = (arena.cluster.processorTime, Service.processorTime(of: process))
        try await Task.sleep(for: .seconds(duration))
        let end = try await Self.now(in: place)
        let microseconds = (clock.now - start) / .microseconds(1)
        let serverCost = arena.cluster.processorTime - server
        let schedulerCost = Service.processorTime(of: process) - scheduler
        // The latest ticks count too, however late they are.
        try await Self.waitUntilSettled(before: end, in: place)

        let latenesses = try await place.database.query(Statement(Self.latenesses, [begin, end])).column(
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
    private static func now(in place: Place) async throws -> Int {
        try await place.database.query("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
            .scalar(Int.self)
    }

    private static func waitUntilSettled(before end: Int, in place: Place) async throws {
        let limit = ContinuousClock.now + .seconds(60)
        while try await place.database.query(Statement(unsettled, [end])).scalar(Bool.self) {
            guard .now < limit else { throw BenchError("errand scheduler: more than 60 s behind") }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    private static let put = """
        select count(errand.schedule_put(
            'bench-' || n,
            case n % 2
                when 0 then n / 2 % 60 || ' * * * * *'
                else 'every ' || 10000 + n * 5 % 50000 || ' ms'
            end,
            'noop'))
        from generate_series(1, $1::int) as n
        """

    /// Whether a tick before $1 isn't settled: the scheduler says of each schedule when it ticks next.
    private static let unsettled = """
        select exists (
            select from errand.schedule_status
            where next_tick is null or next_tick < to_timestamp($1::bigint / 1000000.0))
        """

    /// By when they were due, so that none is left out for being late.
    private static let latenesses = """
        select (extract(epoch from lateness) * 1000000)::bigint
        from errand.schedule_ticks
        where tick >= to_timestamp($1::bigint / 1000000.0) and tick < to_timestamp($2::bigint / 1000000.0)
        """
}
