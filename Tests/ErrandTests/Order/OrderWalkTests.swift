import ErrandTestKit
import Postgres
import Testing

@testable import Errand

/// What a random run has seen of its jobs, and what it may not see.
private struct OrderChecker {
    struct Seen {
        let key: String
        /// When its enqueue had committed; nil = unknown, or it was scheduled.
        var joined: ContinuousClock.Instant?
        var hasStarted = false
    }

    var jobs: [Int64: Seen] = [:]
    var running: [String: Int64] = [:]
    /// When the last end of a key's job began.
    var lastEnd: [String: ContinuousClock.Instant] = [:]
    /// Those that operators touch: their ends are seen late.
    var touched: Set<Int64> = []
    var starts = 0
    var faults: [String] = []

    /// Jobs have been claimed by a call that began then.
    mutating func start(_ ids: [Int64], claimedFrom began: ContinuousClock.Instant) {
        for id in ids {
            guard let job = jobs[id] else { continue }
            starts += 1
            if let other = running[job.key], !touched.contains(other) {
                faults.append("jobs \(other) and \(id) of \(job.key) run at once")
            }
            running[job.key] = id
            if job.hasStarted { continue }
            // The key passes to the next job when the last one ends. A free key may have gone to this job long before
            // it is claimed.
            guard let ended = lastEnd[job.key] else {
                jobs[id]?.hasStarted = true
                continue
            }
            let sure = min(began, ended)
            for (older, seen) in jobs where seen.key == job.key && older < id && !seen.hasStarted {
                if let joined = seen.joined, joined < sure, !touched.contains(older) {
                    faults.append("job \(id) of \(job.key) has started before job \(older)")
                }
            }
            jobs[id]?.hasStarted = true
        }
    }

    /// Their completions are about to be written.
    mutating func end(_ ids: [Int64]) {
        for id in ids {
            guard let key = jobs[id]?.key else { continue }
            if running[key] == id { running[key] = nil }
            lastEnd[key] = .now
        }
    }
}

@Suite("Random jobs of order keys, checked at each start") struct OrderWalkTests {
    private static let jobs = Hardness.isFull ? 20_000 : 600
    private static let keys = Hardness.isFull ? 40 : 8

    private func enqueues(_ database: Database, _ seen: Shared<OrderChecker>) async throws {
        var left = Self.jobs / 2
        while left > 0 {
            var added: [Int64: OrderChecker.Seen] = [:]
            var late: Set<Int64> = []
            try await database.transaction { transaction in
                if Int.random(in: 0..<4) == 0 {
                    try await transaction.execute("set transaction isolation level repeatable read")
                }
                for _ in 1...Int.random(in: 1...6) {
                    let key = "k\(Int.random(in: 0..<Self.keys))"
                    let isLater = Int.random(in: 0..<10) == 0
                    let id = try await transaction.query(
                        Statement(
                            """
                            select job_id
                            from errand.enqueue(
                                'noop', order_key => $1, if_head_fails => $2, priority => $3::int, max_attempts => 2,
                                run_at => case when $4 then now() + interval '20 ms' end)
                            """,
                            [key, ["go_on", "block"].randomElement(), Int.random(in: 1...4), isLater])
                    ).scalar(Int64.self)
                    added[id] = .init(key: key)
                    if isLater { late.insert(id) }
                }
                if Int.random(in: 0..<3) == 0 { try await Task.sleep(for: .milliseconds(Int.random(in: 1...15))) }
                let new = added
                seen.with { $0.jobs.merge(new) { one, _ in one } }
            }
            let (committed, new, unsure) = (ContinuousClock.now, added, late)
            seen.with { checker in
                for id in new.keys where !unsure.contains(id) { checker.jobs[id]?.joined = committed }
            }
            left -= added.count
        }
    }

    private func works(_ database: Database, _ seen: Shared<OrderChecker>, until isEnded: Shared<Bool>) async throws {
        let worker = try await ManualWorker(database)
        while !isEnded.with({ $0 }) {
            let began = ContinuousClock.now
            let claimed = try await worker.claim(Int.random(in: 1...12))
            seen.with { $0.start(claimed.map(\.id), claimedFrom: began) }
            if claimed.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            for job in claimed.shuffled() {
                seen.with { $0.end([job.id]) }
                let outcome = Int.random(in: 0..<20)
                try await worker.end(
                    [job],
                    as: {
                        switch outcome {
                        case 0, 1: .retried($0, error: "x", after: .milliseconds(Int.random(in: 0...20)))
                        case 2: .failed($0, error: "x")
                        case 3: .snoozed($0, for: .milliseconds(Int.random(in: 0...20)))
                        case 4: .released($0)
                        default: .succeeded($0)
                        }
                    })
            }
        }
    }

    private func operates(_ database: Database, _ seen: Shared<OrderChecker>, until isEnded: Shared<Bool>) async throws
    {
        while !isEnded.with({ $0 }) {
            let blocking = try await database.query("select job_id from errand.blocked_keys limit 3")
                .column(0, as: Int64.self)
            switch Int.random(in: 0..<4) {
            case 0:
                let ids = try await database.query("select id from errand.job order by random() limit 1")
                    .column(0, as: Int64.self)
                seen.with { $0.touched.formUnion(ids) }
                _ = try await database.query(Statement("select errand.cancel($1, 'x')", [ids]))
            case 1: _ = try await database.query(Statement("select errand.retry($1, 'x')", [blocking]))
            default: _ = try await database.query(Statement("select errand.discard($1, 'x')", [blocking]))
            }
            try await Task.sleep(for: .milliseconds(15))
        }
    }

    @Test("never two of a key at once, and no first attempt before that of an older one that had committed")
    func random() async throws {
        try await withTestDatabase(connections: 10) { database, _ in
            let (seen, isEnded) = (Shared(OrderChecker()), Shared(false))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...3 { group.addTask { try await works(database, seen, until: isEnded) } }
                group.addTask { try await operates(database, seen, until: isEnded) }
                group.addTask {
                    while !isEnded.with({ $0 }) {
                        try await database.checkOrders()
                        try await database.execute("select errand_internal.promote()")
                        try await Task.sleep(for: .milliseconds(10))
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { enqueues in
                    for _ in 1...2 { enqueues.addTask { try await self.enqueues(database, seen) } }
                    try await enqueues.waitForAll()
                }
                #expect(
                    try await database.becomes(
                        "not exists (select from errand.job) and not exists (select from errand.blocked_keys)",
                        within: .seconds(Hardness.isFull ? 600 : 60)))
                isEnded.with { $0 = true }
                try await group.waitForAll()
            }
            let checker = seen.with { $0 }
            #expect(checker.faults == [])
            #expect(checker.starts > Self.jobs / 4)
            try await database.expectNoOrderLeft()
        }
    }

    @Test("the check finds two of a key at once, and one before an older one")
    func check() {
        var checker = OrderChecker()
        let before = ContinuousClock.now
        for id: Int64 in 1...4 { checker.jobs[id] = .init(key: "a", joined: before) }
        let began = before + .seconds(1)
        checker.start([1], claimedFrom: began)
        checker.end([1])
        checker.start([3], claimedFrom: began)
        #expect(checker.faults == ["job 3 of a has started before job 2"])
        checker.start([4], claimedFrom: began)
        #expect(checker.faults.contains("jobs 3 and 4 of a run at once"))
        checker.end([4])
        checker.start([2], claimedFrom: .now)
        #expect(checker.faults.count == 3)
    }
}
