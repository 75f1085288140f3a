import Logging
import Testing

@testable import Command

@Suite("The end of a process") struct StopSignalsTests {
    @Test("a worker that hangs exits with 1, and a line has the reason")
    func standstill() async throws {
        let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
            let logger = Logger(label: "errand") { _ in LineLog(format: .text, level: .info) }
            StopSignals.end(becauseOf: "the claim loop of default", logger)
        }
        let said = try String(decoding: #require(result).standardErrorContent, as: UTF8.self)
        let line = try #require(said.split(separator: "\n").first { $0.contains("stands still and exits") })
        #expect(line.contains("critical"))
        #expect(line.contains("reason=the claim loop of default"))
    }
}
