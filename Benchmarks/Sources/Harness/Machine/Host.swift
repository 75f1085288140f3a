import Foundation

/// The machine, in words.
enum Host {
    static var facts: [String: String] {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return [
            "cores": "\(cores)",
            "kernel": text("/proc/sys/kernel/ostype") + " " + text("/proc/sys/kernel/osrelease"),
            "load at the start": text("/proc/loadavg").split(separator: " ").prefix(3).joined(separator: " "),
        ]
    }

    /// Of the last minute.
    static var load: Double { text("/proc/loadavg").split(separator: " ").first.flatMap { Double($0) } ?? 0 }

    private static func text(_ path: String) -> String {
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
    }
}

/// Something that keeps the bench from measuring.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
