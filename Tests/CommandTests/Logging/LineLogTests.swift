import Foundation
import Logging
import Testing

@testable import Command

@Suite("Log lines") struct LineLogTests {
    private let nasty = "a\nb\u{1B}[2J\u{9B}1m\u{7F}\u{202E}\u{2028}\u{E0001}"

    @Test("a line for people stays one line with any values")
    func text() {
        let line = LineLog.text("2026-11-20T18:00:00.000Z", .info, "said \(nasty)", ["b": nasty, "a": "1"])
        #expect(line.hasPrefix("2026-11-20T18:00:00.000Z info     said a\\u{a}b"))
        #expect(line.contains(" a=1 b=a\\u{a}b\\u{1b}[2J\\u{9b}1m"))
        #expect(isPlain(line))
    }

    @Test("a line in JSON holds no control character, and its values come back as they were")
    func json() throws {
        let line = LineLog.json("2026-11-20T18:00:00.000Z", .error, nasty, ["key": nasty, "level": "forged"])
        #expect(isPlain(line))
        let object = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(
            object == ["time": "2026-11-20T18:00:00.000Z", "level": "error", "message": nasty, "key": nasty])
    }

    private func isPlain(_ line: String) -> Bool {
        line.unicodeScalars.allSatisfy { scalar in
            ![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
    }
}
