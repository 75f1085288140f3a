import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Metrics of the processes") struct MetricFormatTests {
    @Test(
        "promtool finds no fault in the metrics of a process that has run jobs and ticks",
        arguments: ["run", "web", "worker", "scheduler"])
    func format(command: String) async throws {
        try await withTestDatabase { database, configuration in
            let settings = [
                "ERRAND_WEB_ADDRESS": "127.0.0.1:0", "STORAGE_URL": FileManager.default.temporaryDirectory.path,
            ]
            let url = try TestServer.url(of: configuration, directly: true)
            try await database.execute("select errand.put_schedule('often', 'every 1 s', 'noop')")
            try await database.execute("select errand.enqueue('noop')")
            // A worker and a scheduler have nothing to count before their first job and tick.
            let other = try command == "run" ? nil : Program(["run"], database: url, settings: settings)
            let program = try Program([command], database: url, settings: settings)
            #expect(
                try await database.becomes(
                    "exists (select from errand.metrics() where name = 'errand_wait_seconds_count')",
                    within: .seconds(30)),
                "\(program.output.suffix(2000))")
            let page = try await program.response("metrics")
            #expect(page.contains("errand_build_info{version="))
            #expect(page.contains("errand_jobs{") == (command == "run" || command == "web"))
            #expect(try promtool(page) == "")
            for process in [program, other].compactMap({ $0 }) {
                process.send(SIGTERM)
                #expect(try await process.exit(within: .seconds(60)) == 0)
            }
        }
    }

    /// What `promtool check metrics` says of a page: nothing if it finds no fault.
    private func promtool(_ page: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).appending(path: "../../../..").standardizedFileURL
        let file = FileManager.default.temporaryDirectory.appending(path: "metrics-\(UUID().uuidString)")
        try Data(page.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        let pipe = Pipe()
        process.executableURL = root.appending(path: "scripts/promtool.sh")
        process.arguments = ["check", "metrics"]
        process.standardInput = try FileHandle(forReadingFrom: file)
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let said = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: said, as: UTF8.self) + (process.terminationStatus == 0 ? "" : "it failed")
    }
}
