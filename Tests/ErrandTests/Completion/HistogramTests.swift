import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

@Suite("Histograms of times") struct HistogramTests {
    @Test("a time is in a bucket whose bounds are powers of the square root of two")
    func buckets() {
        for (milliseconds, bucket) in [(-1, 0), (0, 0), (1, 1), (2, 3), (3, 4), (4, 5), (5, 5), (6, 6), (1000, 20)] {
            #expect(Histogram.bucket(of: Int64(milliseconds)) == bucket, "\(milliseconds) ms")
        }
        let wrong = (Int64(1)...5000).first { milliseconds in
            let bucket = Histogram.bucket(of: milliseconds)
            return pow(2, Double(bucket - 1) / 2) > Double(milliseconds) * 1.000_001
                || Double(milliseconds) >= pow(2, Double(bucket) / 2) * 1.000_001
        }
        #expect(wrong == nil)
        #expect(Histogram.bucket(of: .max) == 63)
        #expect(Histogram.bucket(of: 1 << 31 - 1) <= 63)
    }

    @Test("two of them add up bucket by bucket")
    func sum() {
        var one = Histogram()
        var other = Histogram()
        for time in [0, 0, 5] as [Int64] { one.add(milliseconds: time) }
        for time in [0, 2] as [Int64] { other.add(milliseconds: time) }
        other.add(one)
        #expect(other.counts == [3, 0, 0, 1, 0, 1])
    }

    @Test("a worker's counts give percentiles in SQL within one bucket")
    func percentiles() async throws {
        try await withTestDatabase { database, _ in
            var histogram = Histogram()
            for time in Int64(1)...1000 { histogram.add(milliseconds: time) }
            let counts = histogram.counts.map(String.init).joined(separator: ",")
            let worker = try await database.enter()
            try await database.execute(
                Statement(
                    """
                    select errand_internal.count_finished_v1('{\(worker)}', '[{"queue": "default", "kind": "noop", "outcome": "succeeded",
                        "jobs": 1000, "wait_ms": 0, "run_ms": 0, "wait_histogram": [\(counts)], "run_histogram": [\(counts)]}]',
                        0, '{}')
                    """))
            try await database.execute("select errand_internal.update_statistics()")
            let rows = try await database.query(
                "select wait_p50_ms, wait_p95_ms, run_p99_ms from errand.throughput where subject = 'queue' and span = '5 minutes'"
            )
            let (p50, p95, p99) = try rows[0].decode(Double.self, Double.self, Double.self)
            for (milliseconds, share) in [(p50, 0.5), (p95, 0.95), (p99, 0.99)] {
                #expect(abs(milliseconds / (1000 * share) - 1) < 0.2, "\(share): \(milliseconds)")
            }
        }
    }

    @Test("a job that was due long ago is run and counted", arguments: ["1970-01-01", "0001-01-01"])
    func dueLongAgo(due: String) async throws {
        try await withWorker { database, _ in
            try await database.execute(
                Statement("select errand.enqueue('noop', run_at => $1::text::timestamptz)", [due]))
            #expect(try await database.drains())
            #expect(try await database.becomes("exists (select from errand.finished_per_minute where jobs = 1)"))
        }
    }
}
