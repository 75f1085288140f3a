import AppTestKit
import Errand
import ErrandImages
import ErrandStorage
import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@testable import Jobs

@Suite("Photos that take too long") struct TimeLimitTests {
    @Test("a photo that the wall clock ends is tried five times more, each longer and uncounted, and then fails")
    func timedOut() async throws {
        try await withPhoto(limit: { $0.wallClock = .milliseconds(1) }) { test, handler, photo in
            let database = test.database
            for timeouts in 1...5 {
                let run = try await test.run(handler, ImageCompression(photo: photo))
                #expect(run.outcome == .snooze(for: .seconds(10 * timeouts)), "\(run)")
                #expect(run.attemptOutcome == .snoozed)
                let took = "timed_out: took longer than \(Duration.milliseconds(1) * timeouts)"
                #expect(run.log.contains { $0.contains(took) }, "\(run.log)")
                #expect(try await database.lines("select state, error from media.photo_status") == ["submitted|"])
            }
            let last = try await test.run(handler, ImageCompression(photo: photo))
            #expect(last.attemptOutcome == .failed, "\(last)")
            #expect(
                try await database.lines("select state, error from media.photo_status")
                    == ["failed|timed_out: took longer than \(Duration.milliseconds(6))"])
            try await database.execute(Statement("select media.retry_photo($1)", [photo]))
            let again = try await test.run(handler, ImageCompression(photo: photo))
            #expect(again.outcome == .snooze(for: .seconds(10)), "\(again)")
        }
    }

    @Test("a photo that spends its processor time is tried once more, and then fails for good")
    func spent() async throws {
        try await withPhoto(limit: { $0.processorSeconds = 0 }) { test, handler, photo in
            for (attempt, outcome, state) in [(1, AttemptOutcome.retried, "submitted"), (2, .failed, "failed")] {
                let run = try await test.run(handler, ImageCompression(photo: photo), attempt: attempt)
                #expect(run.attemptOutcome == outcome, "\(run)")
                // An outcome that is committed with the photo's row has its reason in that row.
                let recorded = try await test.database.lines(
                    "select error from media.photo_status where error is not null")
                let reason = run.reason ?? recorded.first
                #expect(reason == "time_limit: spent its processor time", "\(run)")
                #expect(try await test.database.lines("select state from media.photo_status") == [state])
            }
        }
    }

    /// Runs `body` with a photo whose compression takes seconds of processor time, and a handler with these limits.
    private func withPhoto(
        limit: (inout ImageProcessLimits) -> Void,
        _ body: (TestQueue, ImageCompressionHandler, UUID) async throws -> Void
    ) async throws {
        try await withAppQueue([]) { test in
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("media-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let store = try FolderStore(root: root)
            try await store.put(try Samples.photograph(), at: ObjectKey("uploads/slow.jpg"))
            let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appendingPathComponent("errand-image").path
            var configuration = ImageProcessPool.Configuration(executable: program, processes: 1)
            limit(&configuration.limits)
            let images = ImageProcessPool(configuration, logger: Logger(label: "test"))
            let handler = ImageCompressionHandler(store: store, images: images, limit: 200 << 20)
            let photo = try await test.database.query(
                "select media.submit('uploads/slow.jpg', max_edge => 5640, format => 'webp')"
            ).scalar(UUID.self)
            try await body(test, handler, photo)
            await images.stop()
        }
    }
}
