import ErrandTestKit
import Logging
import Postgres
import Synchronization
import Testing
import Tracing

@testable import Errand

@Suite("A handler's log") struct HandlerLogTests {
    @Test(
        "each line says its job, kind, queue, attempt and worker, and the trace it belongs to",
        arguments: [true, false])
    func metadata(isTraced: Bool) async throws {
        let log = CapturedLog()
        let tracer = W3CTracer()
        let handler = ProbeHandler { _, context in
            context.logger.info("halfway", metadata: ["photo": "17"])
            return .done
        }
        try await withTestDatabase { database, _ in
            let make = {
                Worker(
                    database: database, configuration: .withoutMaintenance,
                    logger: Logger(label: "test") { _ in log }, handlers: Handlers([handler]))
            }
            let worker = isTraced ? withTracer(tracer, make) : make()
            let running = Task { try await withTracer(tracer) { try await worker.run() } }
            let trace = "0af7651916cd43dd8448eb211c80319c"
            let id = try await Queue(database: database).enqueue(
                Probe(), .traceparent("00-\(trace)-b7ad6b7169203331-01")
            ).id
            #expect(try await database.drains())
            let workerID = try await database.query("select id from errand.worker").scalar(Int64.self)
            running.cancel()
            try await running.value
            let line = try #require(log.lines.first("halfway"))
            #expect(
                line.metadata == [
                    "job_id": .stringConvertible(id), "kind": "probe", "queue": "default",
                    "attempt": .stringConvertible(1),
                    "worker_id": .stringConvertible(workerID),
                    "trace_id": "\(trace)", "photo": "17",
                ])
        }
    }
}

/// Collects log lines with their metadata.
struct CapturedLog: LogHandler {
    let lines = Lines()
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    final class Lines: Sendable {
        private let lines = Mutex<[Line]>([])

        func append(_ line: Line) { lines.withLock { $0.append(line) } }

        func first(_ message: String) -> Line? { all(message).first }

        func atLeast(_ level: Logger.Level) -> [Line] { lines.withLock { $0.filter { $0.level >= level } } }

        func all(_ message: String) -> [Line] { lines.withLock { $0.filter { $0.message == message } } }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = metadata.merging(event.metadata ?? [:]) { _, new in new }
        lines.append(Line(level: event.level, message: "\(event.message)", metadata: metadata))
    }
}
