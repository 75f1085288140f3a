import ErrandTestKit
import Postgres

@testable import Errand

extension Database {
    /// Sets a rate of `allowed` in 1,000 s: beside such spans the time that a test takes is nothing.
    nonisolated func setKeyRate(_ key: String, allowed: Int, burst: Int = 1) async throws {
        try await execute(
            Statement("select errand.set_key_rate($1, '1000 s', $2::int4, $3::int4)", [key, allowed, burst]))
        try await checkRates()
    }

    /// Enqueues jobs with a rate key. Returns their ids.
    @discardableResult
    nonisolated func enqueueRated(_ count: Int, _ key: String, more: String = "") async throws -> [Int64] {
        if count == 0 { return [] }
        return try await enqueueMany(
            "[" + (0..<count).map { _ in #"{"kind": "noop", "rate_key": "\#(key)"\#(more)}"# }.joined(separator: ",")
                + "]")
    }

    /// What maintenance does for rates of keys.
    nonisolated func checkRates() async throws {
        while try await query("select is_more from errand_internal.check_rates()").scalar(Bool.self) {}
    }

    /// Moves the queue's times back, so that they are nearer by so much, and makes due jobs available.
    nonisolated func passRatedTime(_ seconds: Int) async throws {
        try await execute(
            """
            update errand.job set run_at = run_at - $1 * interval '1 second'
            where run_at > now() - interval '1 day'
            """.filling(seconds))
        try await execute(
            "update errand.rate_reservation set start_at = start_at - $1 * interval '1 second'".filling(seconds))
        try await execute("update errand.rate_clock set tat = tat - $1".filling(seconds))
        try await checkRates()
        try await execute("select errand_internal.promote(1000000, '-infinity')")
    }

    /// In how many seconds the waiting jobs that have reserved start, by their ids.
    nonisolated func reservedStarts() async throws -> [Int64: Double] {
        let rows = try await query(
            """
            select job.id, extract(epoch from reserved.start_at - clock_timestamp())::float8
            from errand.rate_reservation as reserved
            join errand.job on job.id = reserved.job_id and job.run_at = reserved.start_at
            where job.state = 'scheduled'
            """)
        return Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode(Int64.self, Double.self) })
    }
}

extension String {
    fileprivate func filling(_ number: Int) -> Statement { Statement(replacing("$1", with: "\(number)")) }
}
