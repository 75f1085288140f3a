import ErrandTestKit
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("Workers of several databases in one process") struct SharedCapacityTests {
    /// How many attempts of each database run, and the most that ran at once.
    private final class Census: Sendable {
        struct Counts {
            var running = [Int](repeating: 0, count: 2)
            var most = [Int](repeating: 0, count: 2)
            /// While the other database had all of its jobs still to run.
            var mostTogether = 0
            var ended = [Int](repeating: 0, count: 2)
        }

        private let counts = Mutex(Counts())
        var now: Counts { counts.withLock(\.self) }

        func enter(_ database: Int) {
            counts.withLock { counts in
                counts.running[database] += 1
                counts.most[database] = max(counts.most[database], counts.running[database])
                counts.mostTogether = max(counts.mostTogether, counts.running.reduce(0, +))
            }
        }

        func leave(_ database: Int) {
            counts.withLock { counts in
                counts.running[database] -= 1
                counts.ended[database] += 1
            }
        }
    }

    private struct Stay: Job {
        static let kind: JobKind = "stay"
        var milliseconds = 50
    }

    private struct Stays: JobHandler {
        let census: Census
        let database: Int
        let memory: Int

        func run(_ job: Stay, in context: JobContext) async throws -> Outcome {
            try await context.withMemory(memory) {
                census.enter(database)
                defer { census.leave(database) }
                try await Task.sleep(for: .milliseconds(job.milliseconds))
            }
            return .done
        }
    }

    /// Two databases, each with a worker, which share what `configuration` allows.
    private func withWorkers(
        slots: Int = 6, memory: Int? = nil, memoryOfEach: Int = 0,
        _ body: (Census, [Queue], [Database]) async throws -> Void
    ) async throws {
        try await withTestDatabase { first, _ in
            try await withTestDatabase { second, _ in
                var configuration = WorkerConfiguration.withoutMaintenance
                configuration.queues = ["default": slots]
                configuration.memory = memory
                configuration.grace = .seconds(2)
                let (capacity, census) = (SharedCapacity(of: configuration), Census())
                let databases = [first, second]
                let workers = databases.enumerated().map { index, database in
                    Worker(
                        database: database, configuration: configuration, sharing: capacity,
                        logger: Logger(label: "worker"),
                        handlers: Handlers([Stays(census: census, database: index, memory: memoryOfEach)]))
                }
                let running = workers.map { worker in Task { try await worker.run() } }
                let result = await Result(catching: {
                    try await body(census, databases.map { Queue(database: $0) }, databases)
                })
                for task in running { task.cancel() }
                for task in running { try await task.value }
                try result.get()
            }
        }
    }

    @Test("a database has all slots while the other is idle, and each its share once both have jobs")
    func shares() async throws {
        try await withWorkers { census, queues, databases in
            try await queues[0].enqueue(all: [Stay](repeating: Stay(), count: 400))
            #expect(await waits { census.now.most[0] == 6 }, "no slot is idle")
            try await queues[1].enqueue(all: [Stay](repeating: Stay(), count: 60))
            #expect(try await databases[1].drains(within: .seconds(60)))
            let counts = census.now
            #expect(counts.most[1] >= 3, "its share")
            #expect(counts.ended[0] < 400, "the other one wasn't finished first")
            #expect(counts.mostTogether <= 6, "never more than the slots")
            try await queues[0].enqueue(all: [Stay](repeating: Stay(), count: 60))
            #expect(await waits { census.now.running == [6, 0] }, "the slots are all the first one's again")
        }
    }

    @Test("one slot serves both, in turn")
    func oneSlot() async throws {
        try await withWorkers(slots: 1) { census, queues, databases in
            for database in databases {
                #expect(try await database.becomes("exists (select from errand.worker)"), "both have begun")
            }
            for queue in queues { try await queue.enqueue(all: [Stay](repeating: Stay(milliseconds: 5), count: 5000)) }
            // On a busy machine one of them may stand still for seconds, in which the other has the slot.
            #expect(await waits { census.now.ended.allSatisfy { $0 >= 10 } })
            let before = census.now.ended
            #expect(await waits { zip(census.now.ended, before).allSatisfy { $0 >= $1 + 40 } })
            let ended = zip(census.now.ended, before).map { $0 - $1 }
            #expect(ended.allSatisfy { $0 < 4500 }, "none waited for the other's end: \(ended)")
            #expect(census.now.mostTogether == 1)
            for database in databases { try await database.execute("delete from errand.job where state = 'available'") }
        }
    }

    @Test("a claim that hangs in one database leaves its slots to the other")
    func hanging() async throws {
        try await withWorkers { census, queues, databases in
            for queue in queues { try await queue.enqueue(all: [Stay](repeating: Stay(), count: 12)) }
            for database in databases { #expect(try await database.drains()) }
            // As a claim of a server that has stalled: it waits for a lock.
            try await databases[1].transaction { transaction in
                try await transaction.execute("lock table errand.job in access exclusive mode")
                try await queues[0].enqueue(all: [Stay](repeating: Stay(), count: 200))
                #expect(await waits { census.now.running == [6, 0] })
            }
            try await queues[1].enqueue(Stay())
            #expect(try await databases[1].drains(within: .seconds(60)), "it goes on once the lock is gone")
        }
    }

    @Test("the memory of attempts is one budget for both")
    func memory() async throws {
        try await withWorkers(memory: 100, memoryOfEach: 60) { census, queues, databases in
            for queue in queues { try await queue.enqueue(all: [Stay](repeating: Stay(milliseconds: 5), count: 10)) }
            for database in databases { #expect(try await database.drains(within: .seconds(60))) }
            #expect(census.now.mostTogether == 1 && census.now.ended == [10, 10])
        }
    }

    /// Waits for a condition that no event announces, at most 30 s.
    private func waits(_ isTrue: () -> Bool) async -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(30) {
            if isTrue() { return true }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return false
    }
}

extension Result where Failure == any Error, Success == Void {
    /// The result of an asynchronous body.
    fileprivate init(catching body: () async throws -> Void) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
