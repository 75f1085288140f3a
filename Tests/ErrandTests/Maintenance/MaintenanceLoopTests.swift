import Logging
import Synchronization
import Testing
import Waiting

@testable import Errand

@Suite("The loop of a maintenance task") struct MaintenanceLoopTests {
    /// A task that returns `delay`, and raises `ran` at each run.
    private struct Counting: MaintenanceTask {
        let name = "counting"
        var firstDelay = Duration.zero
        let delay: MaintenanceDelay
        let runs: Runs

        mutating func once() async throws -> MaintenanceDelay {
            runs.count.add(1, ordering: .relaxed)
            runs.ran.raise()
            return delay
        }

        mutating func failed() {}
    }

    private final class Runs: Sendable {
        let count = Atomic(0)
        let ran = Signal()
    }

    @Test("a task of another process doesn't run, and runs as soon as it is this one's", .timeLimit(.minutes(1)))
    func election() async {
        let election = WorkerElection(lease: .seconds(20))
        election.counted(older: MaintenanceElection.workers, younger: 0)
        let loop = MaintenanceLoop(
            Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, mayRun: { election.isElected })
        election.onElection(loop.wake)
        let runs = Runs()
        let running = Task { await loop.run(Counting(delay: .after(.seconds(60)), runs: runs)) }
        #expect(await !runs.ran.wait(atMost: .milliseconds(200)))
        election.counted(older: MaintenanceElection.workers - 1, younger: 0)
        #expect(await runs.ran.wait(atMost: .seconds(10)))
        loop.stop()
        await running.value
    }

    @Test("a task runs first after its first delay, and not at all if it is stopped before", .timeLimit(.minutes(1)))
    func first() async {
        let loops = (0..<2).map { _ in MaintenanceLoop(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) }
        let runs = [Runs(), Runs()]
        let delays: [Duration] = [.milliseconds(300), .seconds(3600)]
        let running = zip(loops, zip(runs, delays)).map { loop, counted in
            Task {
                await loop.run(Counting(firstDelay: counted.1, delay: .after(.seconds(60)), runs: counted.0))
            }
        }
        #expect(await !runs[0].ran.wait(atMost: .milliseconds(100)))
        // Something that is found meanwhile changes nothing.
        loops[0].wake()
        #expect(await runs[0].ran.wait(atMost: .seconds(10)))
        for loop in loops { loop.stop() }
        for task in running { await task.value }
        #expect(runs.map { $0.count.load(ordering: .relaxed) } == [1, 0])
    }

    private func withLoop(_ delay: MaintenanceDelay, _ body: (MaintenanceLoop, Runs) async -> Void) async {
        let loop = MaintenanceLoop(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let runs = Runs()
        let running = Task { await loop.run(Counting(delay: delay, runs: runs)) }
        await runs.ran.wait()
        await body(loop, runs)
        loop.stop()
        await running.value
    }

    @Test("a task with nothing to do runs again when something is found", .timeLimit(.minutes(1)))
    func untilFound() async {
        await withLoop(.untilFound) { loop, runs in
            #expect(await !runs.ran.wait(atMost: .milliseconds(100)))
            loop.wake()
            #expect(await runs.ran.wait(atMost: .seconds(10)))
            #expect(await !runs.ran.wait(atMost: .milliseconds(100)))
        }
    }

    @Test("a task that has something to do keeps its delay, however often it is found", .timeLimit(.minutes(1)))
    func after() async {
        await withLoop(.after(.seconds(60))) { loop, runs in
            for _ in 0..<10 {
                loop.wake()
                try? await Task.sleep(for: .milliseconds(10))
            }
            #expect(runs.count.load(ordering: .relaxed) == 1)
        }
    }
}
