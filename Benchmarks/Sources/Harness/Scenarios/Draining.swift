import Benchmark
import Errand

/// How a queue of jobs is drained and timed; the same for all contenders.
struct Draining {
    let contender: Contender
    let cluster: Cluster
    let runDatabase: RunDatabase
    var workers = 1
    var arguments: [String] = []

    /// Drains the queue.
    ///
    /// Timed is from the first handler's begin to the moment when no job is unfinished. The server's log is read once
    /// the workers have left.
    func run(_ jobs: Int) async throws -> Values {
        let before = try await cluster.written()
        var values = try await WorkerGroup.with(
            workers, of: contender, on: runDatabase.url, arguments: arguments, waitsForReady: false
        ) { crew in
            let first = try await crew.first()
            let (server, worker) = (cluster.processorTime, crew.processorTime)
            let end = try await end(of: jobs, in: crew, since: first)
            let count = Double(jobs)
            var values = crew.memory
            values[.rate] = count / ((end - first) / .seconds(1))
            values[.serverCPU] = (cluster.processorTime - server) / count
            values[.workerCPU] = (crew.processorTime - worker) / count
            return values
        }
        let after = try await cluster.written()
        values[.log] = (after.bytes - before.bytes) / Double(jobs)
        values[.pageImages] = (after.pageImages - before.pageImages) / Double(jobs) * 1000
        return values
    }

    /// When no job was unfinished any more.
    ///
    /// Asking costs the server more than a claim does, since what is left of ended jobs is in the way: it isn't asked
    /// until all handlers are about to have begun, as far as the workers' own count tells.
    func end(
        of jobs: Int, in crew: WorkerGroup, since first: ContinuousClock.Instant
    ) async throws -> ContinuousClock.Instant {
        let (clock, limit) = (ContinuousClock(), Duration.seconds(120))
        var (last, changed) = (0, clock.now)
        while true {
            try crew.check()
            let ran = crew.ran
            if ran != last { (last, changed) = (ran, clock.now) }
            let throughput = Double(ran) / max((changed - first) / .seconds(1), 0.05)
            let isNearEnd = Double(ran) + throughput * 0.15 >= Double(jobs)
            let isStill = clock.now - changed > .seconds(2)
            if isNearEnd || isStill {
                let asked = clock.now
                if try await !runDatabase.database.query(Statement(contender.unfinished)).scalar(Bool.self) {
                    return clock.now
                }
                try await Task.sleep(for: max(.milliseconds(isStill ? 250 : 4), clock.now - asked))
            } else {
                try await Task.sleep(for: .milliseconds(20))
            }
            guard clock.now - changed < limit else {
                throw BenchError("\(contender.name): \(ran) of \(jobs) jobs had begun, and no more for \(limit)")
            }
        }
    }
}
