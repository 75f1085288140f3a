import Errand
import Glibc

/// A job of 100 bytes that does nothing, or burns time.
struct BenchJob: Job {
    static let kind: JobKind = "bench"
    /// When its enqueue was called, in microseconds since 1970.
    var t: Int?
    var p: String

    /// - Parameter isTimed: whether it carries the time.
    init(isTimed: Bool = false) {
        t = isTimed ? microsecondsNow() : nil
        // {"p":"…"} or {"p":"…","t":1763751234567890}: 100 bytes either way.
        p = String(repeating: "x", count: isTimed ? 71 : 92)
    }
}

struct BenchHandler: JobHandler {
    let record: Record
    /// Microseconds of CPU that each attempt burns.
    let burns: Int

    func run(_ job: BenchJob, in context: JobContext) async throws -> Outcome {
        record.began(enqueuedAt: job.t)
        if burns > 0 { burn() }
        return .done
    }

    private func burn() {
        let end = Self.processorTime() + burns
        while Self.processorTime() < end {}
    }

    /// Microseconds that this thread has run.
    private static func processorTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }
}
