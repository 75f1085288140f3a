import Errand
import Glibc

/// A job of 100 bytes, or of so many of text that no server can compress, which does nothing, or burns time.
struct BenchJob: Job {
    static let kind: JobKind = "bench"
    /// When its enqueue was called, in microseconds since 1970.
    var t: Int?
    var p: String

    static let usualBytes = 100

    /// - Parameters:
    ///   - isTimed: whether it carries the time.
    ///   - bytes: of its JSON.
    init(isTimed: Bool = false, bytes: Int = usualBytes) {
        t = isTimed ? microsecondsNow() : nil
        // {"p":"…"} or {"p":"…","t":1763751234567890}.
        let count = max(0, bytes - (isTimed ? 29 : 8))
        p = bytes == Self.usualBytes ? String(repeating: "x", count: count) : Self.noise(count)
    }

    private static func noise(_ count: Int) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_".utf8)
        return String(decoding: (0..<count).map { _ in letters[Int.random(in: 0..<64)] }, as: UTF8.self)
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
