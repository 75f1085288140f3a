import ErrandTestKit
import Postgres
import Testing

@testable import Errand

/// GCRA in plain words: one clock a key, one reserved time a job that is over the rate.
private struct RateModel {
    let spacing = 100.0
    let burst: Double
    var now = 0.0
    var clock = -Double.infinity
    var waiting: [Int64] = []
    var reserved: [Int64: Double] = [:]

    /// The waiting jobs that start now. The others are scheduled.
    mutating func claim() -> [Int64] {
        var started: [Int64] = []
        for job in waiting {
            // A job is late after nine tenths of the spacing.
            if let time = reserved[job], now - time < 90 {
                reserved[job] = nil
                started.append(job)
                continue
            }
            let base = max(clock, now)
            let start = base - (burst - 1) * spacing
            clock = base + spacing
            if start <= now {
                reserved[job] = nil
                started.append(job)
            } else {
                reserved[job] = start
            }
        }
        waiting = []
        return started
    }

    mutating func pass(_ seconds: Double) {
        now += seconds
        waiting += reserved.filter { $0.value <= now && !waiting.contains($0.key) }.sorted { $0.value < $1.value }.map(
            \.key)
    }
}

@Suite("Rates of keys, beside a model") struct KeyRateModelTests {
    @Test(
        "jobs start and reserve as the model says, whatever the burst and the times", arguments: [1, 2, 5] as [UInt64])
    func model(seed: UInt64) async throws {
        try await withTestDatabase { database, _ in
            var random = SeededGenerator(seed: seed)
            let burst = Int.random(in: 1...4, using: &random)
            try await database.setKeyRate("k", allowed: 10, burst: burst)
            let worker = try await ManualWorker(database)
            var model = RateModel(burst: Double(burst))
            for _ in 1...20 {
                model.waiting += try await database.enqueueRated(Int.random(in: 0...3, using: &random), "k")
                if Int.random(in: 1...4, using: &random) > 1 {
                    let started = try await worker.claim(100)
                    #expect(started.map(\.id).sorted() == model.claim().sorted())
                    try await worker.end(started)
                    let times = try await database.reservedStarts()
                    #expect(Set(times.keys) == Set(model.reserved.keys))
                    for (job, start) in model.reserved {
                        #expect(abs((times[job] ?? .infinity) - (start - model.now)) < 5, "job \(job)")
                    }
                }
                let step = 10 * Int.random(in: 1...16, using: &random)
                try await database.passRatedTime(step)
                model.pass(Double(step))
            }
        }
    }
}
