import Foundation

/// The standard process metrics of Prometheus's clients: processor time, memory, open files, start.
enum ProcessSamples {
    /// Adds them to a page.
    ///
    /// - Parameter start: approximately when the process began. /proc/stat, which would tell, may be hidden from a
    ///   service (ProcSubset=pid).
    static func write(to page: inout MetricPage, start: Date) {
        // The name in parentheses may hold anything, so the fields are counted from behind it.
        guard let stat = read("/proc/self/stat")?.split(separator: ")").last?.split(separator: " "), stat.count > 21
        else { return }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        let seconds = stat[11...12].reduce(0) { $0 + (Double($1) ?? 0) } / ticks
        page.add("process_cpu_seconds_total", .counter, [], seconds)
        page.add(
            "process_resident_memory_bytes", .gauge, [], (Double(stat[21]) ?? 0) * Double(sysconf(Int32(_SC_PAGESIZE))))
        if let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            page.add("process_open_fds", .gauge, [], Double(files.count))
        }
        page.add("process_start_time_seconds", .gauge, [], start.timeIntervalSince1970)
    }

    private static func read(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
