import Benchmark

/// From the call of an enqueue to the start of its job, by one worker process, at a steady rate.
struct Latency: Scenario {
    let name: String
    /// Jobs a second.
    let rate: Double
    /// Seconds; a full run takes four times as long.
    let duration: Double
    let peers: Peers
    var isRepeated = true

    var about: String { "from the call of an enqueue to the start of its job, at \(rate)/s, one worker" }
    var seconds: Double { duration + 4 }

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        try await context.withDatabase(for: contender) { runDatabase in
            try await WorkerGroup.with(1, of: contender, on: runDatabase.url, arguments: ["--latencies"]) { crew in
                let share = try await Share(of: crew, on: context.cluster, runDatabase)
                let produced = try await contender.produce(
                    seconds: context.isFull ? duration * 4 : duration, rate: rate, on: runDatabase.url)
                var values = try await share.soFar()
                try await crew.waitUntil(ran: produced.jobs, atMost: .seconds(20))
                // Workers tell ten times a second.
                try await Task.sleep(for: .milliseconds(250))
                values.merge(crew.latencies.values) { _, new in new }
                values[.rate] = Double(produced.jobs) / produced.seconds
                return ["": values]
            }
        }
    }
}
