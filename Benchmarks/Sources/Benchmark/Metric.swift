/// A measured quantity. The raw value is its name in the results file.
public enum Metric: String, Codable, CodingKeyRepresentable, CaseIterable, Sendable {
    case rate = "jobs_per_second"
    case p50 = "p50_ms"
    case p99 = "p99_ms"
    case longest = "max_ms"
    case serverCPU = "server_cpu_us_per_job"
    case workerCPU = "worker_cpu_us_per_job"
    case log = "wal_bytes_per_job"
    case pageImages = "wal_page_images_per_1000_jobs"
    case disk = "disk_bytes_per_job"
    case memory = "worker_rss_mib"
    case peakMemory = "worker_peak_rss_mib"
    case connections = "connections"
    case queries = "transactions_per_second"
    case workerShare = "worker_cpu_percent"
    case serverShare = "server_cpu_percent"

    /// The head of its column.
    public var title: String {
        switch self {
        case .rate: "jobs/s"
        case .p50: "p50 ms"
        case .p99: "p99 ms"
        case .longest: "max ms"
        case .serverCPU: "server us"
        case .workerCPU: "worker us"
        case .log: "WAL B"
        case .pageImages: "FPI/1000"
        case .disk: "disk B"
        case .memory: "RSS MiB"
        case .peakMemory: "peak MiB"
        case .connections: "conns"
        case .queries: "queries/s"
        case .workerShare: "worker %"
        case .serverShare: "server %"
        }
    }

    public var isBetterHigh: Bool { self == .rate }

    /// Digits after the point, where people read it.
    var digits: Int {
        switch self {
        case .p50, .p99, .longest, .workerShare, .serverShare: 2
        case .serverCPU, .workerCPU, .memory, .peakMemory, .queries, .pageImages: 1
        case .rate, .log, .disk, .connections: 0
        }
    }

    /// `61,204`, `1.05`; of few jobs a second, as photos are, `2.43`.
    public func text(_ value: Double) -> String {
        Self.text(value, digits: self == .rate && value.magnitude < 100 ? 2 : digits)
    }

    static func text(_ value: Double, digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        let whole = Int((value.magnitude * scale).rounded())
        var text = grouped(whole / Int(scale))
        if digits > 0 {
            let fraction = String(whole % Int(scale))
            text += "." + String(repeating: "0", count: digits - fraction.count) + fraction
        }
        return value < 0 && whole > 0 ? "-" + text : text
    }

    private static func grouped(_ number: Int) -> String {
        var digits = Array(String(number))
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: index)
            index -= 3
        }
        return String(digits)
    }
}

/// What one run of one contender gave.
public typealias Values = [Metric: Double]
