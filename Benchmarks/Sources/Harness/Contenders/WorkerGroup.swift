import Benchmark
import Foundation
import Synchronization

/// The worker processes of one run, and their reports so far.
final class WorkerGroup: Sendable {
    private struct State {
        var processes: [Int] = []
        var ready = 0
        var first: ContinuousClock.Instant?
        /// Handlers begun, by worker.
        var ran: [Int: Int] = [:]
        var latencies = Latencies()
        var isStopping = false
        var failure: (any Error)?
    }

    private let state = Mutex(State())
    private let size: Int

    private init(size: Int) { self.size = size }

    /// Runs `body` beside so many workers, once all of them would take jobs, and stops them after it.
    ///
    /// - Parameter waitsForReady: false if jobs are waiting already, so that the first one is part of `body`.
    static func with<T: Sendable>(
        _ size: Int, of contender: Contender, on url: String, arguments: [String] = [], waitsForReady: Bool = true,
        _ body: @Sendable (WorkerGroup) async throws -> T
    ) async throws -> T {
        let crew = WorkerGroup(size: size)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<size {
                group.addTask { await crew.run(number, of: contender, on: url, arguments: arguments) }
            }
            let result: Result<T, any Error>
            do {
                if waitsForReady { try await crew.wait { $0.ready == size } }
                result = .success(try await body(crew))
            } catch {
                result = .failure(error)
            }
            crew.stop(SIGTERM)
            // The contract gives them 10 s.
            let killing = Task {
                try await Task.sleep(for: .seconds(12))
                crew.stop(SIGKILL)
            }
            try await group.waitForAll()
            killing.cancel()
            return try result.get()
        }
    }

    private func run(_ number: Int, of contender: Contender, on url: String, arguments: [String]) async {
        do {
            try await contender.run(["work"] + arguments, on: url) { id in
                state.withLock { $0.processes.append(id) }
            } line: { line in
                note(line, from: number)
            }
            state.withLock { state in
                if !state.isStopping { state.failure = BenchError("\(contender.name) work: ended by itself") }
            }
        } catch {
            state.withLock { state in if !state.isStopping { state.failure = error } }
        }
    }

    private func note(_ line: Substring, from number: Int) {
        let words = line.split(separator: " ")
        let value = words.count == 2 ? Int(words[1]) : nil
        state.withLock { state in
            switch words.first {
            case "ready": state.ready += 1
            case "first": state.first = min(state.first ?? .now, .now)
            case "ran": state.ran[number] = value ?? 0
            case "us": state.latencies.record(microseconds: value ?? 0)
            default: break
            }
        }
    }

    private func stop(_ signal: Int32) {
        let processes = state.withLock { state in
            state.isStopping = true
            return state.processes
        }
        for process in processes { kill(pid_t(process), signal) }
    }
}

// MARK: - What they have told
extension WorkerGroup {
    /// When the first handler began; waits for it.
    func first() async throws -> ContinuousClock.Instant {
        try await wait { $0.first != nil }
        return state.withLock(\.first) ?? .now
    }

    /// Handlers begun, as of the last tenth of a second.
    var ran: Int { state.withLock { $0.ran.values.reduce(0, +) } }

    var latencies: Latencies { state.withLock(\.latencies) }

    /// Throws what ended a worker, if one has ended.
    func check() throws {
        if let failure = state.withLock(\.failure) { throw failure }
    }

    /// Waits for the workers to have begun so many handlers.
    func waitUntil(ran count: Int, atMost limit: Duration) async throws {
        try await wait(atMost: limit) { $0.ran.values.reduce(0, +) >= count }
    }

    private func wait(atMost limit: Duration = .seconds(60), until holds: (State) -> Bool) async throws {
        let end = ContinuousClock.now + limit
        while !state.withLock({ holds($0) }) {
            try check()
            guard .now < end else { throw BenchError("a worker has not come that far within \(limit)") }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Microseconds of CPU of all workers and of what they have started.
    var processorTime: Double {
        figures.reduce(0) { $0 + $1.processorTime + $1.processorTimeOfEnded }
    }

    /// MiB of the largest worker, with what it has started: now, and at most so far.
    var memory: Values {
        let all = state.withLock(\.processes).map { ProcessFigures.tree(of: $0).map(\.memory) }
        let mebibyte = Double(1 << 20)
        return [
            .memory: (all.map { $0.reduce(0) { $0 + $1.now } }.max() ?? 0) / mebibyte,
            .peakMemory: (all.map { $0.reduce(0) { $0 + $1.peak } }.max() ?? 0) / mebibyte,
        ]
    }

    private var figures: [ProcessFigures] { state.withLock(\.processes).flatMap(ProcessFigures.tree(of:)) }
}
