import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Rates of keys, at random") struct KeyRateRandomTests {
    private static let keys = Hardness.isFull ? 40 : 6
    private static let steps = Hardness.isFull ? 200 : 40

    @Test("no span of a key holds more than allowed + burst starts, and each key gets 90 % of its rate")
    func bound() async throws {
        try await withTestDatabase(connections: 8) { database, _ in
            let (allowed, burst) = (10, 3)
            try await database.setKeyRate("k/*", allowed: allowed, burst: burst)
            let workers = [
                try await PullingWorker(database), try await PullingWorker(database), try await PullingWorker(database),
            ]
            for key in 0..<Self.keys {
                try await database.enqueueRated(Self.steps, "k/\(key)", more: #", "max_attempts": 1000"#)
            }
            let starts = Shared<[String: [Double]]>([:])
            var random = SystemRandomNumberGenerator()
            let began = ContinuousClock.now
            var passed = 0.0
            var paused = 0.0
            for step in 1...Self.steps {
                // Longer than any reservation is good for: what was due meanwhile has to reserve again.
                let isPause = step == Self.steps / 2
                let time = isPause ? 950 : Int.random(in: 10...45, using: &random)
                passed += Double(time)
                if isPause { paused = Double(time) }
                try await database.passRatedTime(time)
                try await withThrowingTaskGroup(of: Void.self) { [passed] group in
                    for worker in workers {
                        group.addTask {
                            try await Self.work(worker, on: database) { key in
                                let now = passed + (ContinuousClock.now - began).seconds
                                starts.with { $0[key, default: []].append(now) }
                            }
                        }
                    }
                    group.addTask {
                        try await database.execute(
                            """
                            select errand.cancel(array(
                                select id from errand.job where state <> 'running' order by random() limit 5), 'x')
                            """)
                    }
                    try await group.waitForAll()
                }
            }
            let all = starts.with { $0 }
            #expect(all.count == Self.keys)
            for (key, times) in all {
                for first in times {
                    let span = times.filter { $0 >= first && $0 < first + 1000 }.count
                    #expect(span <= allowed + burst, "\(key): \(span) starts within 1000 s from \(first) on")
                }
                #expect(Double(times.count) >= 0.9 * (passed - paused) / 100, "\(key): \(times.count) starts")
            }
        }
    }

    /// Pulls until nothing may start, and ends what it has pulled in any way.
    private static func work(
        _ worker: PullingWorker, on database: Database, starts: (String) -> Void
    ) async throws {
        while true {
            let jobs = try await worker.pull(5)
            let keys = try await database.query(
                Statement("select rate_key from errand.job where id = any ($1) and state = 'running'", [jobs.map(\.id)])
            ).column(0, as: String.self)
            keys.forEach(starts)
            for job in jobs {
                let end: (call: String, arguments: String) =
                    switch Int.random(in: 1...6) {
                    case 1: ("fail", ", array['x'], retry_after => array[interval '0'])")
                    case 2: ("fail", ", array['x'], retry_after => array[interval '30 s'])")
                    case 3: ("snooze", ", array[interval '50 s'])")
                    case 4: ("release", ")")
                    default: ("done", ")")
                    }
                _ = try await database.end([job], end.call, String(end.arguments.dropLast()))
            }
            let isLeft = try await database.count("from errand.job where state = 'available'") > 0
            if jobs.isEmpty && !isLeft { return }
        }
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(wholeMicroseconds) / 1_000_000 }
}
