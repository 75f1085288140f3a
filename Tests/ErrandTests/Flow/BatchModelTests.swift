import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Random operations on batches, beside a simple model") struct BatchModelTests {
    /// What a batch is to be.
    private struct Model {
        var isClosed = false
        /// It has been looked at since its close.
        var isSeen = false
        /// A transaction was writing when it was first seen closed, and has not ended.
        var isBlocked = false
        /// A transaction has its row locked.
        var isLocked = false
        var outcome: String?
        var hasToldFailure = false
        /// Its jobs: nil = unfinished, else the state without success or `succeeded`.
        var jobs: [Int64: String?] = [:]

        var hasFailed: Bool { jobs.values.contains { $0 != nil && $0 != "succeeded" } }
        var waiting: [Int64] { jobs.filter { $0.value == nil }.keys.sorted() }

        func count(_ state: String) -> Int { jobs.values.filter { $0 == state }.count }

        mutating func check(isHeld: Bool) {
            guard outcome == nil, !isLocked else { return }
            if hasFailed { hasToldFailure = true }
            guard isClosed else { return }
            if !isSeen { (isSeen, isBlocked) = (true, isHeld) }
            guard !isBlocked, waiting.isEmpty else { return }
            outcome = hasFailed ? "failed" : "succeeded"
        }

        var text: String {
            let state = outcome != nil ? "ended" : isClosed ? "closed" : "open"
            return
                "\(state) \(outcome ?? "-") \(jobs.count) \(waiting.count) \(count("failed")) \(count("cancelled")) 0"
        }

        var callbacks: String {
            [
                hasToldFailure ? "on_failure" : nil, outcome != nil ? "on_finish" : nil,
                outcome == "succeeded" ? "on_success" : nil,
            ].compactMap { $0 }.joined(separator: " ")
        }
    }

    /// A transaction that has enqueued a job and not ended.
    private struct Held {
        let session: Connection
        let batch: Int64
        let job: Int64
    }

    private static let seeds = Hardness.isFull ? 20 : 2
    private static let steps = Hardness.isFull ? 600 : 150

    @Test("states, numbers and callbacks are those of the model after each step", arguments: 1...seeds)
    func random(seed: Int) async throws {
        try await withTestDatabase { database, configuration in
            let worker = try await ManualWorker(database)
            var random = SeededGenerator(seed: UInt64(seed))
            var models: [Int64: Model] = [:]
            var held: Held?
            var log: [String] = []
            for _ in 1...Self.steps {
                let unended = models.filter { $0.value.outcome == nil }.keys.sorted()
                let target = unended.randomElement(using: &random)
                switch (Int.random(in: 0..<13, using: &random), target) {
                case (0, _) where unended.count < 4, (_, nil):
                    models[try await database.openBatch()] = Model()
                    log.append("open")
                case (1...3, let batch?):
                    let ids = try await database.enqueueMany(
                        "["
                            + [String](repeating: #"{"kind": "noop", "batch": \#(batch)}"#, count: 2).joined(
                                separator: ",")
                            + "]")
                    for id in ids + [try await database.member(of: batch)] { models[batch]?.jobs[id] = .some(nil) }
                    log.append("enqueue \(batch)")
                case (4, let batch?) where held == nil:
                    let session = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
                    try await session.execute("begin")
                    let job = try await session.query(
                        Statement("select job_id from errand.enqueue('noop', batch => \(batch))")
                    ).scalar(Int64.self)
                    held = Held(session: session, batch: batch, job: job)
                    let isClosed = models[batch]?.isClosed == true
                    models[batch]?.isLocked = isClosed
                    log.append("hold \(batch)")
                case (5...6, _):
                    guard let ended = held else { continue }
                    let commits = Bool.random(using: &random)
                    try await ended.session.execute(commits ? "commit" : "rollback")
                    await ended.session.close()
                    if commits { models[ended.batch]?.jobs[ended.job] = .some(nil) }
                    held = nil
                    for id in models.keys {
                        models[id]?.isBlocked = false
                        models[id]?.isLocked = false
                    }
                    log.append("\(commits ? "commit" : "rollback") \(ended.batch)")
                case (7, let batch?) where models[batch]?.isClosed == false:
                    try await database.closeBatch(batch)
                    models[batch]?.isClosed = true
                    log.append("close \(batch)")
                case (8, let batch?):
                    // A retry would wait for the row.
                    guard
                        let id = models.keys.filter({ models[$0]?.isLocked == false }).sorted().randomElement(
                            using: &random) ?? Optional(batch), models[id]?.isLocked == false
                    else { continue }
                    _ = try await database.query(Statement("select errand.batch_retry(\(id), 'x')"))
                    for (job, state) in models[id]?.jobs ?? [:] where state == "failed" || state == "cancelled" {
                        models[id]?.jobs[job] = .some(nil)
                    }
                    log.append("retry \(id)")
                case (9, let batch?):
                    _ = try await database.query(Statement("select errand.batch_cancel(\(batch), 'x', 2)"))
                    for job in (models[batch]?.waiting ?? []).prefix(2) { models[batch]?.jobs[job] = "cancelled" }
                    log.append("cancel \(batch)")
                default:
                    let fails = Int.random(in: 0..<6, using: &random) == 0
                    for job in try await worker.claim(3) {
                        try await worker.end([job], as: { fails ? .failed($0, error: "x") : .succeeded($0) })
                        for id in models.keys where models[id]?.jobs[job.id] != nil {
                            models[id]?.jobs[job.id] = fails ? "failed" : "succeeded"
                        }
                    }
                    log.append("end")
                }
                try await database.checkBatches()
                for id in models.keys.sorted() {
                    models[id]?.check(isHeld: held != nil)
                    let model = try #require(models[id])
                    let (seen, callbacks) = (try await database.batch(id), try await database.callbacks(of: id))
                    #expect(seen == model.text && callbacks == model.callbacks, "batch \(id): \(log.suffix(20))")
                    guard seen == model.text, callbacks == model.callbacks else { return }
                }
            }
            if let held { await held.session.close() }
            #expect(
                models.values.contains { $0.outcome == "succeeded" } && models.values.contains { $0.hasToldFailure })
        }
    }
}
