import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A setting in the program's own list.
struct ListedSetting: Decodable, Sendable {
    let setting: String
    let key: String
    let secret: Bool

    /// The settings that a push key needs. Without them the key isn't read.
    static let companions = [
        "APNS_KEY_ID": "ABCDE12345", "APNS_TEAM_ID": "FGHIJ67890", "APNS_TOPIC": "com.example.app",
        "APNS_SERVER": "https://127.0.0.1:9", "FCM_SERVER": "https://127.0.0.1:9",
    ]

    /// The secret settings of this program.
    static func secrets() async throws -> [ListedSetting] {
        let said = try await Program.says(["config", "--json"], settings: [:])
        let start = try #require(said.firstIndex(of: "["))
        return try JSONDecoder().decode([ListedSetting].self, from: Data(said[start...].utf8)).filter(\.secret)
    }
}

extension Program {
    /// Runs the program until it exits. Returns its output.
    static func says(
        _ arguments: [String], database: String? = nil, settings: [String: String]
    ) async throws -> String {
        let program = try Program(arguments, database: database, settings: settings)
        let code = try await program.exit(within: .seconds(60))
        #expect(code != nil, "errand \(arguments.joined(separator: " ")) does not end")
        return program.output
    }

    /// The port of its HTTP service, once it logs it.
    func port() async throws -> Int {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(30) {
            if let found = output.firstMatch(of: /listening\D.*?127\.0\.0\.1:(\d+)|127\.0\.0\.1:(\d+)".*"listening"/) {
                return try #require(Int(found.1 ?? found.2 ?? ""))
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw NotListening()
    }

    struct NotListening: Error {}

    /// The response body at `path`, for any status.
    func response(_ path: String) async throws -> String {
        let url = try #require(URL(string: "http://127.0.0.1:\(try await port())/\(path)"))
        return String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self)
    }
}

extension Evidence {
    /// The command lines of all processes on this machine.
    mutating func addProcesses() {
        let ids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.filter { Int($0) != nil } ?? []
        for id in ids {
            let words = try? String(contentsOfFile: "/proc/\(id)/cmdline", encoding: .utf8)
            add("the command line of a process", words ?? "")
            // The process that decodes untrusted photos has no other variables.
            guard words?.contains("errand-image") == true else { continue }
            let environment = try? String(contentsOfFile: "/proc/\(id)/environ", encoding: .utf8)
            add("the environment of errand-image", environment ?? "")
        }
    }

    /// Every row of every table, and the server's list of sessions.
    mutating func addDatabase(_ database: Database, url: String) async throws {
        let sessions = try await database.query(
            "select coalesce(string_agg(a::text, ' '), '') from pg_stat_activity as a")
        add("pg_stat_activity", try sessions.scalar(String.self))
        let dump = Process()
        dump.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        dump.arguments = ["pg_dump", "--data-only", "--dbname", url]
        let output = Pipe()
        dump.standardOutput = output
        try dump.run()
        add(
            "the dump of the database",
            String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self))
        dump.waitUntilExit()
        #expect(dump.terminationStatus == 0)
    }
}
