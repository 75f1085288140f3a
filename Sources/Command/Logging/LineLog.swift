import Errand
import Foundation
import Logging

/// Writes log lines to standard error: as text, or one JSON object per line with typed values. Control characters are
/// escaped, so that no value can forge a line. Logging never waits for the reader; see ``LogWriter``.
struct LineLog: LogHandler {
    enum Format: String {
        case text, json
    }

    let format: Format
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(format: Format, level: Logger.Level) {
        self.format = format
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(metadataProvider?.get() ?? [:]) { _, new in new }
            .merging(event.metadata ?? [:]) { _, new in new }
            .mapValues(JSONValue.init)
        LogWriter.standardError.write(line(event.level, "\(event.message)", fields)) { dropped in
            line(
                .warning, "log lines were dropped: standard error was not read", ["lines": .number(Double(dropped))])
        }
    }

    private func line(_ level: Logger.Level, _ message: String, _ fields: [String: JSONValue]) -> String {
        let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let line =
            switch format {
            case .text: Self.text(time, level, message, fields)
            case .json: Self.json(time, level, message, fields)
            }
        return line + "\n"
    }

    /// `2026-11-20T18:00:00.000Z info     registered worker_id=1`.
    static func text(
        _ time: String, _ level: Logger.Level, _ message: String, _ fields: [String: JSONValue]
    ) -> String {
        let pairs = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value.logText)" }.joined()
        return
            "\(time) \(level.rawValue.padding(toLength: 8, withPad: " ", startingAt: 0)) \(message.printable)\(pairs)"
    }

    /// One object. A field with the name of a built-in one is replaced.
    static func json(
        _ time: String, _ level: Logger.Level, _ message: String, _ fields: [String: JSONValue]
    ) -> String {
        let own: [String: JSONValue] = [
            "time": .string(time), "level": .string(level.rawValue), "message": .string(message),
        ]
        // These values always have a JSON form.
        return (try? Command.json(fields.merging(own) { _, own in own })) ?? ""
    }
}
