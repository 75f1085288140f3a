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

    func run(_ contender: Contender, in arena: Arena) async throws -> [String: Values] {
        try await arena.withDatabase(for: contender) { place in
            try await Crew.with(1, of: contender, on: place.url, arguments: ["--latencies"]) { crew in
                let share = try await Share(of: crew, on: arena.cluster, place)
                let produced = try await contender.produce(
                    seconds: arena.isFull ? duration * 4 : duration, rate: rate, on: place.url)
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
