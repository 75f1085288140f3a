import Foundation
import Testing

@Suite("Core dumps") struct CoreDumpTests {
    @Test(
        "a process that holds secrets leaves no core dump, and none of its user's other processes may read its memory",
        arguments: ["worker", "scheduler", "web"])
    func none(command: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // As a user other than root: the files in /proc of a process without dumps belong to root.
        let user = getuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["env"]
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("errand").path
        process.arguments = ["-c", #"ulimit -S -c "$(ulimit -H -c)"; exec "$@""#, "sh"] + user + [program, command]
        process.environment = [
            "PATH": "/usr/bin:/bin", "DATABASE_URL": "postgresql:///x?host=/nowhere",
            "ERRAND_WEB_ADDRESS": "127.0.0.1:0", "STORAGE_URL": folder.appendingPathComponent("storage").path,
        ]
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let log = folder.appendingPathComponent("log")
        try Data().write(to: log)
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        // After its first line, the settings are read.
        let start = ContinuousClock.now
        while try Data(contentsOf: log).isEmpty, process.isRunning, ContinuousClock.now - start < .seconds(40) {
            try await Task.sleep(for: .milliseconds(20))
        }
        let said = try String(contentsOf: log, encoding: .utf8)
        try #require(process.isRunning, "\(said)")
        let status = "/proc/\(process.processIdentifier)"
        let limits = try String(contentsOfFile: status + "/limits", encoding: .utf8).split(separator: "\n")
        let core = try #require(limits.first { $0.hasPrefix("Max core file size") })
        #expect(core.split(separator: " ").suffix(3).prefix(2) == ["0", "0"], "\(core)")
        let owner = try FileManager.default.attributesOfItem(atPath: status + "/environ")[.ownerAccountID]
        #expect((owner as? NSNumber)?.intValue == 0)
    }
}
