import Errand
import Foundation
import Glibc
import Postgres
import Synchronization

/// The progress of a load, as reported by its enqueuers and workers.
final class Load: Sendable {
    private struct State {
        var enqueued = 0
        var finished = 0
        var isStopped = false
        var claims: [Duration] = []
        /// When a job started; recorded only while single jobs are measured.
        var started: [Int64: ContinuousClock.Instant] = [:]
    }

    private let state = Mutex(State())
    /// How many jobs may wait in the queue.
    private let ahead: Int
    /// The most jobs that are enqueued per second.
    private let rate: Int?
    private let begun = ContinuousClock.now

    init(ahead: Int, rate: Int? = nil) {
        self.ahead = ahead
        self.rate = rate
    }

    var isStopped: Bool { state.withLock(\.isStopped) }
    var isRoomAhead: Bool {
        let due = rate.map { Int(Double($0) * ((ContinuousClock.now - begun) / .seconds(1))) } ?? .max
        return state.withLock { $0.enqueued - $0.finished < ahead && $0.enqueued < due }
    }

    func stop() { state.withLock { $0.isStopped = true } }

    func enqueued(_ count: Int) { state.withLock { $0.enqueued += count } }

    func record(_ trip: RoundTripReport) {
        state.withLock { state in
            state.finished += trip.finished
            if trip.claimed > 0 { state.claims.append(trip.took) }
        }
    }

    func started(_ id: Int64) {
        guard ahead == 0 else { return }
        state.withLock { $0.started[id] = .now }
    }

    /// When the job started; waits for it.
    func start(of id: Int64) async -> ContinuousClock.Instant {
        while true {
            if let start = state.withLock({ $0.started[id] }) { return start }
            try? await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Waits until `count` more jobs have finished.
    func finishes(more count: Int) async throws {
        let goal = state.withLock { $0.finished + count }
        while state.withLock({ $0.finished < goal }) { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// What happens while `body` runs.
    func measure(on database: Database, _ body: () async throws -> Void) async throws -> Figures {
        state.withLock { $0.claims = [] }
        let (log, cpu, start) = (try await Self.logPosition(on: database), Self.cpuSeconds(), ContinuousClock.now)
        let finished = state.withLock(\.finished)
        try await body()
        let jobs = state.withLock(\.finished) - finished
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let claims = state.withLock(\.claims).map(\.inMilliseconds)
        return Figures(
            jobs_per_second: Double(jobs) / seconds,
            claim_p50_ms: claims.quantile(0.5),
            claim_p99_ms: claims.quantile(0.99),
            wal_bytes_per_job: (try await Self.logPosition(on: database) - log) / Double(jobs),
            worker_cpu_us_per_job: (Self.cpuSeconds() - cpu) * 1_000_000 / Double(jobs),
            rss_bytes: Self.residentBytes())
    }

    private static func logPosition(on database: Database) async throws -> Double {
        try await database.query("select (pg_current_wal_insert_lsn() - '0/0')::float8").scalar(Double.self)
    }

    /// Of the whole process, its enqueuers included.
    private static func cpuSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static func residentBytes() -> Int {
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
            * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
