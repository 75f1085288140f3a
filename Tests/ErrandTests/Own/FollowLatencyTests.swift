import ErrandTestKit
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

private struct Echo: Job {
    static let kind: JobKind = "echo"
    let number: Int
}

private struct EchoHandler: JobHandler {
    func run(_ job: Echo, in context: JobContext) async throws -> Outcome {
        // Longer than the first question about it: only its notice can tell.
        try await Task.sleep(for: .milliseconds(30))
        return .done(output: try JSONB(encoding: job.number))
    }
}

@Suite("Results come soon after the commits of their jobs") struct FollowLatencyTests {
    /// When each job's completion was known to be written.
    private final class Commits: Sendable {
        private let times = Mutex<[Int64: ContinuousClock.Instant]>([:])

        func add(_ completions: [Completion]) {
            times.withLock { times in for one in completions { times[one.job.id] = .now } }
        }

        subscript(id: Int64) -> ContinuousClock.Instant? { times.withLock { $0[id] } }
    }

    @Test("beside 1,000 waits that go on, each of 100 jobs a second gives its own result")
    func latency() async throws {
        let isFull = Hardness.isFull
        let commits = Commits()
        let latencies = try await withWorker([EchoHandler()]) {
            $0.onCompletions = commits.add
        } _: { database, queue in
            let later = try await queue.enqueue(
                all: Array(repeating: Echo(number: 0), count: 1000), .followed, .after(.seconds(3600)))
            return try await withThrowingTaskGroup(of: Duration?.self) { group in
                for id in later {
                    group.addTask {
                        _ = try? await queue.end(of: id, timeout: .seconds(3600))
                        return nil
                    }
                }
                let start = ContinuousClock.now
                let count = isFull ? 2000 : 200
                for number in 0..<count {
                    try await Task.sleep(until: start + .milliseconds(10) * number)
                    group.addTask {
                        let id = try await queue.enqueue(Echo(number: number), .followed).id
                        #expect(try await queue.result(of: id, as: Int.self, timeout: .seconds(30)) == number)
                        let end = ContinuousClock.now
                        return commits[id].map { end - $0 } ?? .zero
                    }
                }
                var latencies: [Duration] = []
                while latencies.count < count, let one = try await group.next() {
                    if let one { latencies.append(one) }
                }
                #expect(try await database.becomes(Follower.oneListens))
                group.cancelAll()
                return latencies.sorted()
            }
        }
        let (median, p99) = (latencies[latencies.count / 2], latencies[latencies.count * 99 / 100])
        print("results: p50 \(median), p99 \(p99), max \(latencies.last ?? .zero), \(latencies.count) jobs")
        if isFull { #expect(p99 <= .milliseconds(10)) }
    }
}
