import ArgumentParser
import Testing

@testable import Command

@Suite("Times in arguments") struct MomentTests {
    @Test(
        "a time has a zone, or is a duration",
        arguments: [
            "2026-12-24T18:00:00Z", "2026-12-24T18:00:00+01:00", "90s", "10m", "24h", "7d",
        ])
    func accepted(text: String) throws {
        _ = try Moment(argument: text)
        _ = try Since(argument: text)
    }

    @Test(
        "a time without a zone is rejected, and the error says so",
        arguments: ["2026-12-24T18:00:00", "2026-12-24T18:00", "2026-12-24 18:00:00", "2026-12-24"])
    func zoneless(text: String) {
        for error in errors(text) {
            #expect(error.hasPrefix("expected a time with its zone, such as 2026-12-24T18:00:00Z or "))
            #expect(error.hasSuffix("got '\(text)', which has no zone"))
        }
    }

    @Test("what is no time is rejected", arguments: ["", "soon", "18:00", "-2h", "tomorrow", "2026-13-01T00:00:00Z"])
    func unreadable(text: String) {
        for error in errors(text) { #expect(error.hasSuffix("got '\(text)'")) }
    }

    /// The errors of both readers.
    private func errors(_ text: String) -> [String] {
        var errors: [String] = []
        do { _ = try Moment(argument: text) } catch { errors.append((error as? ValidationError)?.message ?? "") }
        do { _ = try Since(argument: text) } catch { errors.append((error as? ValidationError)?.message ?? "") }
        #expect(errors.count == 2)
        return errors
    }
}
