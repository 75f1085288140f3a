import Logging
import Synchronization

/// Logs failed attempts: a warning for one that is tried again, an error for a final failure.
///
/// A line names the job and the type of the error, never its text, which may hold what the job was about. Of a storm of
/// failures 20 lines are written in 10 s; how many were left out is said once those are over.
final class FailureLog: Sendable {
    private let throttle = Mutex(FailureThrottle())

    /// Logs those of `completions` that failed.
    func write(_ completions: [Completion], to logger: Logger, at now: Duration) {
        for completion in completions {
            guard completion.outcome.isFailure, throttle.withLock({ $0.admits(at: now) }) else { continue }
            let job = completion.job
            logger.log(
                level: completion.outcome == .failed ? .error : .warning, "attempt failed",
                metadata: [
                    "job_id": "\(job.id)", "kind": "\(job.kind)", "queue": "\(job.queue)",
                    "attempt": "\(job.attempt)", "max_attempts": "\(job.maxAttempts)",
                    "outcome": "\(completion.outcome)",
                    "error": "\(completion.result.cause ?? "reported by its handler")",
                ])
        }
    }

    /// Says how many lines were left out, once their time is over.
    func writeRest(to logger: Logger, at now: Duration) {
        let leftOut = throttle.withLock { $0.leftOut(at: now) }
        if leftOut > 0 {
            logger.warning("failed attempts were not logged one by one", metadata: ["attempts": "\(leftOut)"])
        }
    }
}

/// How many lines about failures are written: 20 in 10 s, and the rest is counted.
struct FailureThrottle {
    static let lines = 20
    static let span: Duration = .seconds(10)

    private var start: Duration?
    private var written = 0
    private var suppressed = 0

    /// Whether a line may be written. One that may not is counted.
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

    /// How many were left out since it was asked last; 0 while the span goes on.
    mutating func leftOut(at now: Duration) -> Int {
        guard let start, now - start >= Self.span else { return 0 }
        defer { suppressed = 0 }
        return suppressed
    }
}
