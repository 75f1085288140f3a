import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Workers that pull together") struct PullModelTests {
    /// What random sessions have done.
    private struct Record {
        var enqueued: Set<Int64> = []
        var done: [Int64: Int] = [:]
        var isOver = false
    }

    private struct Undo: Error {}

    @Test(
        "whatever sessions enqueue, pull, roll back, hand back and move, each job is done exactly once",
        .timeLimit(.minutes(2)), arguments: Hardness.isFull ? Array(1...20) : [1])
    func model(seed: UInt64) async throws {
        try await withTestDatabase(connections: 12) { database, _ in
            let record = Shared(Record())
            let rounds = Hardness.isFull ? 300 : 60
            var workers: [PullingWorker] = []
            for _ in 0..<4 { workers.append(try await PullingWorker(database, queues: "default,second")) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, worker) in workers.enumerated() {
                    group.addTask {
                        var random = SeededGenerator(seed: seed * 100 + UInt64(number))
                        while record.with({ !$0.isOver }) {
                            try await pull(worker, record, using: &random)
                        }
                    }
                }
                group.addTask {
                    var mover = MarkMover(database)
                    while record.with({ !$0.isOver }) {
                        try await mover.move()
                        try await database.promote()
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { writers in
                    for number in 10..<13 {
                        writers.addTask {
                            var random = SeededGenerator(seed: seed * 100 + UInt64(number))
                            for _ in 0..<rounds { try await write(database, record, using: &random) }
                        }
                    }
                    try await writers.waitForAll()
                }
                // The workers stop once they have done all.
                let start = ContinuousClock.now
                while record.with({ $0.done.count < $0.enqueued.count }), .now - start < .seconds(30) {
                    try await Task.sleep(for: .milliseconds(20))
                }
                record.with { $0.isOver = true }
                try await group.waitForAll()
            }
            let (enqueued, done) = record.with { ($0.enqueued, $0.done) }
            #expect(enqueued.count > rounds)
            #expect(Set(done.keys) == enqueued)
            #expect(done.values.allSatisfy { $0 == 1 })
            let ended = "select count(*), count(distinct id) from errand.history where state = 'succeeded'"
            #expect(try await database.text(ended) == "\(enqueued.count)|\(enqueued.count)")
            #expect(try await database.text("select id, state, queue, priority, queue_position from errand.job") == "")
        }
    }

    /// A transaction that enqueues or moves jobs, stays open for a while, and may be rolled back.
    private func write(
        _ database: Database, _ record: Shared<Record>, using random: inout SeededGenerator
    ) async throws {
        let (delay, fate) = (Int.random(in: 0...8, using: &random), Int.random(in: 0..<5, using: &random))
        let moves = Int.random(in: 0..<4, using: &random) == 0
        let jobs = Int.random(in: 1...4, using: &random)
        let priority = Int.random(in: 1...4, using: &random)
        let queue = Bool.random(using: &random) ? "default" : "second"
        let ids = Shared<[Int64]>([])
        do {
            try await database.transaction { transaction in
                if moves {
                    try await transaction.execute(
                        Statement(
                            """
                            select errand.reschedule(
                                array(select id from errand.job where state = 'available' order by random() limit 2),
                                priority => \(priority))
                            """))
                } else {
                    let rows = try await transaction.query(
                        Statement(
                            """
                            select job_id
                            from generate_series(1, \(jobs)),
                                errand.enqueue('noop', queue => '\(queue)', priority => \(priority))
                            """))
                    let new = try rows.column(0, as: Int64.self)
                    ids.with { $0 = new }
                }
                try await Task.sleep(for: .milliseconds(delay))
                if fate == 0 { throw Undo() }
            }
            record.with { $0.enqueued.formUnion(ids.with { $0 }) }
        } catch is Undo {
        } catch let error as PostgresError where error.sqlState == "40P01" {
            // Two that move the same jobs.
        }
    }

    /// A pull that may be rolled back, and an outcome for each job.
    private func pull(
        _ worker: PullingWorker, _ record: Shared<Record>, using random: inout SeededGenerator
    ) async throws {
        let fate = Int.random(in: 0..<4, using: &random)
        let limit = [1, 2, 5].randomElement(using: &random) ?? 1
        let pulled = Shared<[PullingWorker.Job]>([])
        do {
            try await worker.database.transaction { transaction in
                let rows = try await transaction.query(
                    Statement("select id, token, attempt from \(worker.call(limit))"))
                let jobs = try PullingWorker.jobs(rows)
                pulled.with { $0 = jobs }
                if fate == 0 {
                    try await Task.sleep(for: .milliseconds(3))
                    throw Undo()
                }
            }
        } catch is Undo { return }
        for job in pulled.with({ $0 }) {
            let call = ["fail", "snooze", "release", "done", "done", "done"].randomElement(using: &random) ?? "done"
            let arguments = ["fail": ", '{x}', '{0}'", "snooze": ", '{1 ms}'"][call] ?? ""
            #expect(try await worker.database.end([job], call, arguments) == ["completed"])
            if call == "done" { record.with { $0.done[job.id, default: 0] += 1 } }
        }
    }

    @Test("a worker of the program and two that pull drain one queue together, and each job runs once")
    func mixed() async throws {
        let ran = Shared<[Int64]>([])
        let own = CountingHandler { id in ran.with { $0.append(id) } }
        try await withWorker([own], configure: { $0.queues = ["default": 2] }) { database, queue in
            try await queue.enqueue(all: [Counting](repeating: Counting(), count: 20))
            #expect(try await database.drains())
            var workers: [PullingWorker] = []
            for _ in 1...2 { workers.append(try await PullingWorker(database, kinds: "counting")) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in workers {
                    group.addTask {
                        while ran.with({ $0.count }) < 600 {
                            let jobs = try await worker.pull(3)
                            ran.with { $0 += jobs.map(\.id) }
                            #expect(Set(try await database.end(jobs)).isSubset(of: ["completed"]))
                        }
                    }
                }
                group.addTask {
                    var mover = MarkMover(database)
                    while ran.with({ $0.count }) < 600 { try await mover.move() }
                }
                for _ in 1...29 { try await queue.enqueue(all: [Counting](repeating: Counting(), count: 20)) }
                try await group.waitForAll()
            }
            #expect(try await database.drains())
            let ids = ran.with { $0 }
            #expect(ids.count == 600 && Set(ids).count == 600)
            #expect(
                try await database.text(
                    "select count(*), count(distinct id), max(attempt), count(distinct worker_id) from errand.history")
                    == "600|600|1|3")
        }
    }
}

private struct Counting: Job {
    static let kind: JobKind = "counting"
}

private struct CountingHandler: JobHandler {
    let ran: @Sendable (Int64) -> Void

    func run(_ job: Counting, in context: JobContext) async throws -> Outcome {
        ran(context.job.id)
        try await Task.sleep(for: .milliseconds(2))
        return .done
    }
}
