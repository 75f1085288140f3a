import ArgumentParser
import Foundation
import Postgres

struct MoveJobs: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Move a queue's waiting jobs from one cell to another, each exactly once.",
        discussion: """
            errand cells move images 1 3

            Jobs keep their ids. Those with a unique key, a limit or a signal stay, so do running ones. It may be \
            killed at any point: call it again, and it goes on where it stopped.
            """)

    @Argument(help: "The queue.")
    var queue: String

    @Argument(help: "The cell that has the jobs.")
    var from: Int

    @Argument(help: "The cell that gets them.")
    var to: Int

    @Option(help: "The number of jobs in a batch, 1 to 100000.")
    var batch = 10_000

    /// How many batches are under way at a time: one cell takes out jobs while the other inserts some.
    private static let streams = 2

    func validate() throws {
        guard (1...100_000).contains(batch) else { throw ValidationError("--batch: expected 1 to 100000") }
        guard from != to else { throw ValidationError("expected two cells, got one") }
    }

    func run() async throws {
        let environment = try Environment.load()
        try await onFront(environment) { front in
            // Committed before the first job moves: by ids, the front asks this cell where its jobs are from then on.
            try await front.execute(Statement("select errand_front.expect_moves($1::int)", [from]))
            try await front.execute(Statement("select errand_front.finish_moves($1::int)", [from]))
        }
        let moved = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 1...Self.streams { group.addTask { try await onFront(environment) { try await move(on: $0) } } }
            return try await group.reduce(0, +)
        }
        print("moved \(moved) jobs of \(queue.printable) from cell \(from) to cell \(to)")
    }

    private func onFront<T: Sendable>(
        _ environment: Environment, _ body: (Connection) async throws -> T
    ) async throws -> T {
        try await environment.withConnection(statementTimeout: .seconds(300), needsSchema: false, body)
    }

    /// Each call is a transaction of the front, and some on the cells: a kill between two of them loses nothing.
    private func move(on front: Connection) async throws -> Int {
        let id = UUID()
        var (total, number, priority, position) = (0, 0, 0, Int64(0))
        while true {
            number += 1
            let rows = try await front.query(
                Statement(
                    "select * from errand_front.move_jobs($1, $2::int, $3, $4::int, $5::int, $6::int, $7::int, $8)",
                    [id, number, queue, from, to, batch, priority, position]))
            guard let row = rows.first else { return total }
            let (jobs, lastPriority, lastPosition) = try row.decode(Int.self, Int?.self, Int64?.self)
            guard jobs > 0 else { return total }
            total += jobs
            (priority, position) = (lastPriority ?? 0, lastPosition ?? 0)
        }
    }
}
