import Foundation

/// The measurements of one load. The names are those of the JSON output.
struct Figures: Encodable {
    var jobs_per_second: Double
    /// One round trip: the last batch's outcomes written and the next batch claimed.
    var claim_p50_ms: Double
    var claim_p99_ms: Double
    var wal_bytes_per_job: Double
    /// Of the whole process, its enqueuers included.
    var worker_cpu_us_per_job: Double
    var rss_bytes: Int
}

/// The results of a benchmark.
struct Report: Encodable {
    private var load: Figures
    /// An idle worker with wake-ups: from the call of the enqueue to the start of the job.
    private var start_latency_p50_ms: Double?
    private var start_latency_p99_ms: Double?
    /// The same with polling only.
    private var poll_latency_p50_ms: Double?
    private var poll_latency_p99_ms: Double?
    /// With a held snapshot: the same load before it and while it was held.
    var before: Figures?
    var pinned: Figures?

    init(_ load: Figures) {
        self.load = load
    }

    mutating func add(wakeUps: [Double], polls: [Double]) {
        start_latency_p50_ms = wakeUps.quantile(0.5)
        start_latency_p99_ms = wakeUps.quantile(0.99)
        poll_latency_p50_ms = polls.quantile(0.5)
        poll_latency_p99_ms = polls.quantile(0.99)
    }

    private enum Keys: String, CodingKey {
        case start_latency_p50_ms, start_latency_p99_ms, poll_latency_p50_ms, poll_latency_p99_ms, before, pinned
    }

    func encode(to encoder: any Encoder) throws {
        try load.encode(to: encoder)
        var container = encoder.container(keyedBy: Keys.self)
        try container.encodeIfPresent(start_latency_p50_ms, forKey: .start_latency_p50_ms)
        try container.encodeIfPresent(start_latency_p99_ms, forKey: .start_latency_p99_ms)
        try container.encodeIfPresent(poll_latency_p50_ms, forKey: .poll_latency_p50_ms)
        try container.encodeIfPresent(poll_latency_p99_ms, forKey: .poll_latency_p99_ms)
        try container.encodeIfPresent(before, forKey: .before)
        try container.encodeIfPresent(pinned, forKey: .pinned)
    }
}

extension Report: CustomStringConvertible {
    /// A table for people.
    var description: String {
        var lines = [load.line("load", withHeader: true)]
        if let before, let pinned {
            lines += [before.line("before the snapshot"), pinned.line("snapshot held")]
            lines.append(String(format: "%.2f of its own rate while the snapshot is held", ratio(pinned, before)))
        }
        if let start_latency_p50_ms, let start_latency_p99_ms, let poll_latency_p50_ms, let poll_latency_p99_ms {
            lines.append(
                String(
                    format: "enqueue to start, idle worker: woken p50 %.1f, p99 %.1f ms; polling p50 %.1f, p99 %.1f ms",
                    start_latency_p50_ms, start_latency_p99_ms, poll_latency_p50_ms, poll_latency_p99_ms))
        }
        return lines.joined(separator: "\n")
    }

    private func ratio(_ one: Figures, _ other: Figures) -> Double { one.jobs_per_second / other.jobs_per_second }
}

extension Figures {
    fileprivate func line(_ name: String, withHeader: Bool = false) -> String {
        func column(_ text: String) -> String { String(repeating: " ", count: max(0, 14 - text.count)) + text }
        let values = [
            String(format: "%.0f", jobs_per_second), String(format: "%.1f", claim_p50_ms),
            String(format: "%.1f", claim_p99_ms), String(format: "%.0f", wal_bytes_per_job),
            String(format: "%.1f", worker_cpu_us_per_job), String(format: "%.0f", Double(rss_bytes) / 1_048_576),
        ]
        let names = ["jobs/s", "claim p50 ms", "claim p99 ms", "WAL B/job", "CPU us/job", "memory MiB"]
        let row = name.padding(toLength: 22, withPad: " ", startingAt: 0) + values.map(column).joined()
        return withHeader ? String(repeating: " ", count: 22) + names.map(column).joined() + "\n" + row : row
    }
}

extension [Double] {
    /// The quantile by nearest rank; 0 of no values.
    func quantile(_ part: Double) -> Double {
        isEmpty ? 0 : sorted()[Swift.max(0, Int((Double(count) * part).rounded(.up)) - 1)]
    }
}
