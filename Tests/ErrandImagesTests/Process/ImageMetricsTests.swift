import CoreMetrics
import ErrandImages
import MetricsTestKit
import Testing

@Suite("Metrics of image processes") struct ImageMetricsTests {
    @Test("photos are counted by outcome, and processes by start")
    func counts() async throws {
        let metrics = TestMetrics()
        let pool = withMetricsFactory(metrics) { ImageProcessPool.forTests(processes: 1) }
        let photo = try Samples.magick("-size 300x200 plasma:")
        for _ in 0..<3 { _ = try await pool.compress(photo) }
        await #expect(throws: ImageError.self) { try await pool.compress(Array(photo.prefix(photo.count / 2))) }
        await pool.stop()
        func seconds(_ outcome: String) throws -> [Int64] {
            try metrics.expectTimer("errand_image_seconds", [("outcome", outcome)]).values
        }
        #expect(try seconds("compressed").count == 3)
        #expect(try seconds("refused").count == 1)
        #expect(try seconds("compressed").allSatisfy { $0 > 0 })
        #expect(metrics.counterTotal(label: "errand_image_processes_started_total") == 1)
        for state in ["busy", "idle"] {
            #expect(try metrics.expectMeter("errand_image_processes", [("state", state)]).lastValue == 0)
        }
    }
}
