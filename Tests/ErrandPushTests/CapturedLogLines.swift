import Logging
import Synchronization

/// Log lines with message and metadata.
final class CapturedLogLines: Sendable {
    struct Handler: LogHandler {
        let lines: CapturedLogLines
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.append("\(event.message) \(event.metadata ?? [:])") }
    }

    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    private func append(_ line: String) { lines.withLock { $0.append(line) } }
}
