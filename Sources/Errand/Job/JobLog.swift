import Foundation
import Logging

/// A job's log: passes each line to the program's log. Lines of level `info` and above are also stored with the job,
/// whatever level the program's log has.
struct JobLog: LogHandler {
    var inner: any LogHandler
    let progress: ProgressBuffer
    let job: ClaimedJob

    var logLevel: Logger.Level {
        get { min(.info, inner.logLevel) }
        set { inner.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { inner.metadata }
        set { inner.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { inner.metadataProvider }
        set { inner.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { inner[metadataKey: key] }
        set { inner[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        if event.level >= inner.logLevel { inner.log(event: event) }
        guard event.level >= .info else { return }
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let pairs = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        progress.update(job) { $0.append("\(time) \(event.level) \(event.message)\(pairs)") }
    }
}
