import Foundation
import Testing

@testable import Command

@Suite("errand config") struct ConfigTests {
    private struct Line: Decodable {
        let setting: String
        let value: String?
        let from: String
    }

    @Test("shows every setting and where it came from, and never a secret", arguments: [true, false])
    func all(asJSON: Bool) async throws {
        let settings = ["DATABASE_URL": "postgresql://user:hunter2@host/x", "ERRAND_LEASE": "30s"]
        let program = try await Program.run(["config"] + (asJSON ? ["--json"] : []), settings: settings)
        #expect(program.code == 0)
        #expect(!program.output.contains("hunter2"))
        for setting in Setting.all { #expect(program.output.contains(setting.variable)) }
        guard asJSON else {
            return #expect(program.output.contains("ERRAND_LEASE=30s\n    environment ERRAND_LEASE; "))
        }
        let lines = try JSONDecoder().decode([Line].self, from: Data(program.output.utf8))
        #expect(lines.map(\.setting) == Setting.all.map(\.variable))
        let lease = try #require(lines.first { $0.setting == "ERRAND_LEASE" })
        #expect(lease.value == "30s" && lease.from == "environment ERRAND_LEASE")
        let heartbeat = try #require(lines.first { $0.setting == "ERRAND_HEARTBEAT_INTERVAL" })
        #expect(heartbeat.value == "5s" && heartbeat.from == "default")
    }

    @Test("docs/settings.md has every setting as it is, and no other")
    func manual() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let manual = try String(contentsOf: root.appendingPathComponent("docs/settings.md"), encoding: .utf8)
        let rows = manual.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
        let expected = Setting.all.map {
            "| `\($0.variable)` | \($0.fallback.map { "`\($0)`" } ?? "") | \($0.expected) | \($0.purpose) |"
        }
        #expect(rows == expected)
        let unlike = Setting.all.filter { $0.key != $0.variable.lowercased().replacing("_", with: ".") }
        #expect(unlike.map(\.key) == ["apns.keyId", "apns.teamId", "fcm.serviceAccount"])
    }
}
