import ArgumentParser
import Errand
import Foundation

struct Produce: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Enqueue one job a transaction.")

    @OptionGroup var target: Target

    @Option(help: "Connections side by side.")
    var clients = 1

    @Option(help: "How long.")
    var seconds: Double

    @Option(help: "Jobs a second of all clients together, by a timetable; as fast as they go by default.")
    var rate: Double?

    @Option(help: "Most jobs of all clients together.")
    var jobs: Int?

    @Option(help: "Queues that the jobs are spread over, one after the other; that of the kind by default.")
    var queues: Int?

    @Flag(help: "In a transaction that also inserts a row of the caller's.")
    var transactional = false

    private struct Reply: Encodable {
        var jobs: Int
        var seconds: Double
        var latency_us: [Int]
    }

    func validate() throws {
        guard clients > 0 else { throw ValidationError("--clients: expected at least 1, got \(clients)") }
        guard seconds > 0 else { throw ValidationError("--seconds: expected more than 0, got \(seconds)") }
        guard queues ?? 1 > 0 else { throw ValidationError("--queues: expected at least 1, got \(queues ?? 0)") }
        guard queues == nil || !transactional && target.variant != .bare else {
            throw ValidationError("--queues: expected neither --transactional nor bare beside it")
        }
    }

    func run() async throws {
        let database = try target.database(connections: clients)
        if transactional {
            try await database.execute(
                "create table if not exists bench_order (id bigint generated always as identity primary key, note text)"
            )
        }
        try await warmUp(database)
        let start = ContinuousClock.now
        let latencies = try await withThrowingTaskGroup(of: [Int].self) { group in
            for client in 0..<clients { group.addTask { try await produce(as: client, from: start, on: database) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let took = (ContinuousClock.now - start) / .seconds(1)
        let reply = Reply(jobs: latencies.count, seconds: took, latency_us: latencies)
        say(String(decoding: try JSONEncoder().encode(reply), as: UTF8.self))
        await database.close()
    }

    /// Opens all connections: they are no part of what is timed.
    private func warmUp(_ database: Database) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<clients {
                group.addTask { _ = try await database.query("select pg_sleep(0.2)") }
            }
            try await group.waitForAll()
        }
    }

    private func produce(as client: Int, from start: ContinuousClock.Instant, on database: Database) async throws
        -> [Int]
    {
        let end = start + .seconds(seconds)
        var latencies: [Int] = []
        // Of the timetable of all clients it has every so many-th time.
        for index in sequence(first: client, next: { $0 + clients }) {
            if let jobs, index >= jobs { break }
            if let rate {
                let due = start + .seconds(Double(index) / rate)
                guard due < end else { break }
                if due > .now { try await Task.sleep(until: due, tolerance: .zero, clock: .continuous) }
            } else if .now >= end {
                break
            }
            let called = ContinuousClock.now
            try await enqueue(as: index, on: database)
            latencies.append(Int((ContinuousClock.now - called) / .microseconds(1)))
        }
        return latencies
    }

    private func enqueue(as index: Int, on database: Database) async throws {
        let (job, queue) = (BenchJob(isTimed: true), Queue(database: database))
        guard transactional else {
            if target.variant == .bare {
                try await database.execute(Bare.insert(JSONB(encoding: job)))
            } else if let queues {
                try await queue.enqueue(job, .queue(Target.queueName(index % queues)))
            } else {
                try await queue.enqueue(job)
            }
            return
        }
        try await database.transaction { transaction in
            try await transaction.execute(Statement("insert into bench_order (note) values ($1)", ["an order"]))
            if target.variant == .bare {
                try await transaction.execute(Bare.insert(JSONB(encoding: job)))
            } else {
                try await queue.enqueue(job, in: transaction)
            }
        }
    }
}
