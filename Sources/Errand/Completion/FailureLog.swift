import Logging
import Synchronization

/// Logs failed attempts: a warning for a retried one, an error for a final failure.
///
/// A line has the job, the class of the error and its id in `errand.failures`. The error's text may hold private
/// data, so it is a setting. At most 20 lines are written in 10 s. Then one line says how many were suppressed.
final class FailureLog: Sendable {
    private let throttle = Mutex(FailureThrottle())
    private let hasText: Bool

    init(hasText: Bool) { self.hasText = hasText }

    /// Logs those of `completions` that failed.
    ///
    /// - Parameter errorIDs: by job; those of committed completions are their own.
    func write(_ completions: [Completion], errorIDs: [Int64: String], to logger: Logger, at now: Duration) {
        for completion in completions {
            guard completion.outcome.isFailure, throttle.withLock({ $0.admits(at: now) }) else { continue }
            let job = completion.job
            var fields: Logger.Metadata = [
                "job_id": .stringConvertible(job.id), "kind": "\(job.kind)", "queue": "\(job.queue)",
                "attempt": .stringConvertible(job.attempt), "max_attempts": .stringConvertible(job.maxAttempts),
                "outcome": "\(completion.outcome)", "error": "\(completion.shownCause)",
                "run_seconds": .stringConvertible(completion.took / .seconds(1)),
            ]
            fields["error_id"] = (completion.commit.map(\.errorID) ?? errorIDs[job.id]).map { "\($0)" }
            if hasText { fields["reason"] = completion.error.map { "\($0)" } }
            logger.log(
                level: completion.outcome == .failed ? .error : .warning, "attempt failed", metadata: fields)
        }
    }

    /// Logs how many lines were suppressed, once the span is over.
    func writeRest(to logger: Logger, at now: Duration) {
        let leftOut = throttle.withLock { $0.leftOut(at: now) }
        if leftOut > 0 {
            logger.warning(
                "failed attempts were not logged one by one", metadata: ["attempts": .stringConvertible(leftOut)])
        }
    }
}

/// Limits log lines about failures to 20 in 10 s, and counts the rest.
struct FailureThrottle {
    static let lines = 20
    static let span: Duration = .seconds(10)

    private var start: Duration?
    private var written = 0
    private var suppressed = 0

    /// Whether a line may be written. A suppressed line is counted.
    mutating func admits(at now: Duration) -> Bool {
        if start.map({ now - $0 >= Self.span }) ?? true {
            start = now
            written = 0
        }
        guard written < Self.lines else {
            suppressed += 1
            return false
        }
        written += 1
        return true
    }

    /// How many lines were suppressed since the last call; 0 during the span.
    mutating func leftOut(at now: Duration) -> Int {
        guard let start, now - start >= Self.span else { return 0 }
        defer { suppressed = 0 }
        return suppressed
    }
}
