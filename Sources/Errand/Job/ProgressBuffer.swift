import Foundation
import Postgres
import Synchronization

/// Progress, output and log of running attempts, until they are written: once a second, for all at once.
package final class ProgressBuffer: Sendable {
    /// What one attempt has said.
    package struct Report: Sendable {
        static let lines = 50
        static let bytes = 8192

        let job: ClaimedJob
        package var fraction: Double?
        package var message: String?
        package var output: JSONB?
        package private(set) var log: [String] = []
        private var logBytes = 0
        /// Something has been said that isn't written yet.
        var isUnwritten = false

        init(of job: ClaimedJob) { self.job = job }

        /// Adds a line to the log; the oldest ones give way.
        mutating func append(_ line: String) {
            let line = String(line.prefix(1000))
            log.append(line)
            logBytes += line.utf8.count
            while log.count > Self.lines || logBytes > Self.bytes { logBytes -= log.removeFirst().utf8.count }
        }
    }

    private let reports = Mutex<[Int64: Report]>([:])

    var isEmpty: Bool { reports.withLock(\.isEmpty) }

    /// Changes what is known of an attempt. What an older attempt of the job still says is dropped.
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

    /// What is to be written now. Attempts that have ended are forgotten once they were taken.
    package func take(running: Set<Int64>) -> [Report] {
        reports.withLock { reports in
            let unwritten = reports.values.filter(\.isUnwritten).sorted { $0.job.id < $1.job.id }
            for report in unwritten { reports[report.job.id]?.isUnwritten = false }
            reports = reports.filter { running.contains($0.key) }
            return unwritten
        }
    }

    /// Takes back what could not be written, unless there is something newer already.
    func put(back taken: [Report]) {
        reports.withLock { reports in
            for report in taken {
                reports[report.job.id] = reports[report.job.id] ?? report
                reports[report.job.id]?.isUnwritten = true
            }
        }
    }
}
