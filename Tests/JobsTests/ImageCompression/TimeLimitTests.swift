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
    @Test("a photo that takes too long is tried once more, and then fails for good")
    func fails() async throws {
        try await withTestQueue([]) { test in
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("media-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let store = try FolderStore(root: root)
            try await store.put(try Samples.photograph(), at: ObjectKey("uploads/slow.jpg"))
            let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appendingPathComponent("errand-image").path
            var configuration = ImageProcessPool.Configuration(executable: program, processes: 1)
            configuration.limits.wallClock = .milliseconds(20)
            let images = ImageProcessPool(configuration, logger: Logger(label: "test"))
            let handler = ImageCompressionHandler(store: store, images: images, limit: 200 << 20)
            let photo = try await test.database.query("select media.submit('uploads/slow.jpg')").scalar(UUID.self)
            for (attempt, outcome, state) in [(1, AttemptOutcome.retried, "submitted"), (2, .failed, "failed")] {
                let run = try await test.run(handler, ImageCompression(photo: photo), attempt: attempt)
                #expect(run.attemptOutcome == outcome, "\(run)")
                // An outcome that is committed with the photo's row has its reason in that row.
                let recorded = try await test.database.lines(
                    "select error from media.photo_status where error is not null")
                let reason = run.reason ?? recorded.first
                #expect(reason?.hasPrefix("time_limit: took longer than ") == true, "\(run)")
                #expect(try await test.database.lines("select state from media.photo_status") == [state])
            }
            await images.stop()
        }
    }
}
