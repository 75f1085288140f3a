import Foundation
import Postgres
import Synchronization

/// Buffers progress, output and log of running attempts. They are written once a second, all together.
package final class ProgressBuffer: Sendable {
    /// What one attempt has reported.
    package struct Report: Sendable {
        static let lines = 50
        static let bytes = 8192

        let job: ClaimedJob
        package var fraction: Double?
        package var message: String?
        package var output: JSONB?
        package private(set) var log: [String] = []
        private var logBytes = 0
        /// Whether the report has changed since the last write.
        var isUnwritten = false

        init(of job: ClaimedJob) { self.job = job }

        /// Appends a line to the log. The oldest lines are dropped beyond 50 lines or 8 KB.
        mutating func append(_ line: String) {
            let line = String(line.prefix(1000))
            log.append(line)
            logBytes += line.utf8.count
            while log.count > Self.lines || logBytes > Self.bytes { logBytes -= log.removeFirst().utf8.count }
        }
    }

    private let reports = Mutex<[Int64: Report]>([:])

    var isEmpty: Bool { reports.withLock(\.isEmpty) }

    /// Changes the report of an attempt. Reports of older attempts of the same job are ignored.
    func update(_ job: ClaimedJob, _ change: (inout Report) -> Void) {
        reports.withLock { reports in
            var report = reports[job.id] ?? Report(of: job)
            if report.job.position < job.position { report = Report(of: job) }
            guard report.job.position == job.position else { return }
            change(&report)
            report.isUnwritten = true
            reports[job.id] = report
        }
    }

    /// Returns the reports to write now. Reports of ended attempts are removed with this call.
    package func take(running: Set<Int64>) -> [Report] {
        reports.withLock { reports in
            let unwritten = reports.values.filter(\.isUnwritten).sorted { $0.job.id < $1.job.id }
            for report in unwritten { reports[report.job.id]?.isUnwritten = false }
            reports = reports.filter { running.contains($0.key) }
            return unwritten
        }
    }

    /// Puts back reports that could not be written, unless newer ones exist.
    func put(back taken: [Report]) {
        reports.withLock { reports in
            for report in taken {
                reports[report.job.id] = reports[report.job.id] ?? report
                reports[report.job.id]?.isUnwritten = true
            }
        }
    }
}
