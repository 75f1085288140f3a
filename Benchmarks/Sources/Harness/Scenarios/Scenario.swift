import Benchmark

/// A measurement. It measures one contender at a time, in a new database.
protocol Scenario: Sendable {
    /// What it is called by `make bench SCENARIO=…` and in the table. `drain` chooses `drain-1`, `drain-2`, …
    var name: String { get }
    /// What it does, in one line.
    var about: String { get }
    var peers: Peers { get }
    /// Which of the baselines take part: `c`, `bare`, and the tools of `images`.
    var baselines: Set<String> { get }
    /// False if one round is enough: what it counts doesn't vary, or it has rounds of its own.
    var isRepeated: Bool { get }
    /// Whether Errand of another commit can take part: where all that runs is the contender's own program.
    var comparesCommits: Bool { get }
    /// What one run of one contender takes, about.
    var seconds: Double { get }

    /// Measures one contender once; more than one result is told apart by what is appended to the scenario's name.
    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values]
}

extension Scenario {
    var baselines: Set<String> { [] }
    var isRepeated: Bool { true }
    var comparesCommits: Bool { true }

    func takesPart(_ name: String, isFull: Bool) -> Bool {
        if name == Field.before { return comparesCommits }
        if name == "errand" || baselines.contains(name) { return true }
        guard !Field.own.contains(name) else { return false }
        return switch peers {
        case .all: true
        case .leading: isFull || Field.leading.contains(name)
        case .inFull: isFull
        case .none: false
        }
    }
}

/// Which peers take part. In a full run it is all of them, but for `none`.
enum Peers {
    case all, leading, inFull, none
}

extension [any Scenario] {
    /// In the order in which they run.
    static func all(isFull: Bool, pinned: Duration = .seconds(60)) -> [any Scenario] {
        [
            Enqueue(name: "enqueue-1", about: "one client, one job a transaction", baselines: ["bare"]),
            Enqueue(
                name: "enqueue-order", about: "one client, each job in a transaction with a row of the application's",
                isTransactional: true, peers: .inFull, baselines: ["bare"]),
            Enqueue(
                name: "enqueue-16", about: "16 producers, one job a transaction, no worker", clients: 16,
                baselines: ["bare"]),
            Enqueue(
                name: "enqueue-16-busy", about: "16 producers, one job a transaction, beside a busy worker",
                clients: 16, workers: 1),
            Enqueue(
                name: "enqueue-16-idle",
                about: "16 producers, one job a transaction, while a worker of another queue sleeps and is woken",
                clients: 16, workers: 1, workerArguments: ["--queue", "elsewhere"], peers: .none),
            EnqueueBulk(),
            EnqueueMany(batch: 5_000),
            EnqueueMany(batch: 100_000),
            Drain(workers: 1, peers: .all),
            Drain(workers: 2, peers: .leading),
            Drain(workers: 4, peers: .inFull),
            Drain(workers: 1, burns: 200, peers: .inFull),
            Drain(workers: 2, burns: 200, peers: .inFull),
            Drain(workers: 1, bytes: 10_000, peers: .leading),
            Drain(workers: 1, isFollowed: true, peers: .none),
            Drain(workers: 1, isPosted: true, peers: .none),
            Queues(counts: [1, 100]),
            Footprint(),
            Latency(name: "latency-20", rate: 20, duration: 10, peers: .leading),
            Latency(name: "latency-1000", rate: 1_000, duration: 5, peers: .leading),
            Latency(name: "latency-idle", rate: 0.5, duration: 16, peers: .leading, isRepeated: isFull),
            Steady(batch: 1, jobs: 10_000),
            Steady(batch: 10, jobs: 60_000),
            Steady(batch: 100, jobs: 200_000),
            Steady(batch: 1_000, jobs: 200_000),
            Sustained(rate: 1_000, duration: isFull ? 600 : 60),
            Backlog(lengths: isFull ? [1_000, 100_000, 1_000_000, 10_000_000] : [1_000, 100_000, 1_000_000]),
            Pinned(duration: pinned),
            Pinned(duration: pinned, rate: 10_000),
            LongWriter(),
            Held(),
            Memory(batches: isFull ? 10 : 4, batch: isFull ? 100_000 : 50_000),
            Idle(),
            SchedulerTicks(schedules: 10_000, duration: isFull ? 120 : 30),
            SchedulerTicks(schedules: 10_000, duration: isFull ? 120 : 30, held: isFull ? 600 : 120),
            Images(),
            LatencyImages(duration: isFull ? 60 : 15),
        ]
    }
}
