import Errand
import Foundation
import Logging
import Testing

@testable import Command

@Suite("Log lines") struct LineLogTests {
    private let nasty = "a\nb\u{1B}[2J\u{9B}1m\u{7F}\u{202E}\u{2028}\u{E0001}"

    @Test("a line for people stays one line with any values")
    func text() {
        let line = LineLog.text(
            "2026-11-20T18:00:00.000Z", .info, "said \(nasty)", ["b": .string(nasty), "a": .number(1)])
        #expect(line.hasPrefix("2026-11-20T18:00:00.000Z info     said a\\u{a}b"))
        #expect(line.contains(" a=1 b=a\\u{a}b\\u{1b}[2J\\u{9b}1m"))
        #expect(isPlain(line))
    }

    @Test("a line in JSON holds no control character, and its values come back as they were")
    func json() throws {
        let line = LineLog.json(
            "2026-11-20T18:00:00.000Z", .error, nasty, ["key": .string(nasty), "level": .string("forged")])
        #expect(isPlain(line))
        let object = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(
            object == ["time": "2026-11-20T18:00:00.000Z", "level": "error", "message": nasty, "key": nasty])
    }

    @Test("numbers, truth values, arrays and objects stay what they are, and long ones are cut")
    func typed() throws {
        let metadata: Logger.Metadata = [
            "attempt": .stringConvertible(3), "retry_in_seconds": .stringConvertible(2.5),
            "listens": .stringConvertible(true), "queues": .dictionary(["default": .stringConvertible(10)]),
            "jobs": .array((0..<200).map { .stringConvertible(Int64($0)) }),
            "error": "\(String(repeating: "x", count: 3000))",
        ]
        let fields = metadata.mapValues(JSONValue.init)
        let line = LineLog.json("2026-11-20T18:00:00.000Z", .info, "said", fields)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["attempt"] as? Int == 3 && object["retry_in_seconds"] as? Double == 2.5)
        #expect(line.contains(#""listens":true"#) && line.contains(#""queues":{"default":10}"#))
        #expect((object["jobs"] as? [Int]) == Array(0..<100) && (object["error"] as? String)?.count == 2000)
        #expect(LineLog.text("", .info, "said", fields).contains(#" queues={"default":10} retry_in_seconds=2.5"#))
    }

    private func isPlain(_ line: String) -> Bool {
        line.unicodeScalars.allSatisfy { scalar in
            ![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
        }
    }
}
