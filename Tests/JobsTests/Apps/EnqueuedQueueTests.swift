import Errand
import ErrandImages
import ErrandPush
import ErrandStorage
import Foundation
import Logging
import Testing

@testable import Jobs

@Suite("Jobs that SQL enqueues") struct EnqueuedQueueTests {
    /// A worker registers the queues of its kinds. Before the first one did, a call without a queue would enqueue for
    /// `default`, where a worker of another queue never finds the job.
    @Test("each call of errand.enqueue names the queue of its kind's policy, unless that is the default")
    func named() throws {
        let folder = URL(fileURLWithPath: #filePath).appending(path: "../../../../sql/apps").standardizedFileURL
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let scripts = files?.compactMap { $0 as? URL }.filter { $0.pathExtension == "sql" } ?? []
        var queues = try queues()
        for script in scripts where script.lastPathComponent == "handlers.sql" {
            let text = try String(contentsOf: script, encoding: .utf8)
            for handler in text.matches(of: /store_handler\('(\w+)', '[^']*', '[^']*', '(\w+)'/) {
                queues[JobKind(rawValue: String(handler.1))] = String(handler.2)
            }
        }
        var calls = 0
        for script in scripts {
            let text = try String(contentsOf: script, encoding: .utf8)
            for call in text.matches(of: /errand\.enqueue\(\s*'(\w+)'([^;]*);/) {
                let kind = JobKind(rawValue: String(call.1))
                let wanted = try #require(queues[kind], "\(script.lastPathComponent): no worker runs \(kind)")
                let named = call.2.firstMatch(of: /queue => '(\w+)'/).map { String($0.1) } ?? "default"
                #expect(named == wanted, "\(script.lastPathComponent): \(kind)")
                calls += 1
            }
        }
        #expect(calls >= 8)
    }

    /// The queue of each kind that `errand` runs.
    private func queues() throws -> [JobKind: String] {
        let logger = Logger(label: "test")
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("queues-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let services = AppServices(
            store: try FolderStore(root: root), images: ImageProcessPool(logger: logger),
            pushes: PushServices(PushLog(logger: logger)))
        return services.handlers.entries.mapValues(\.policy.queue)
    }
}
