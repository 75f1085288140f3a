import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("A log without a reader") struct StalledReaderTests {
    @Test("a worker whose log is not read runs its jobs, and the log is complete once it is read")
    func readLate() async throws {
        try await withTestDatabase { database, configuration in
            let worker = try StalledWorker(settings: reaching(configuration))
            try await database.execute("select errand.enqueue('noop')")
            #expect(try await becomes { try await database.query(history).scalar(Int.self) == 1 })
            let output = worker.read()
            worker.send(SIGTERM)
            try #require(try await becomes { !worker.isRunning })
            #expect(worker.status == 0)
            let lines = await output.value
            #expect(lines.contains("registered") && lines.contains("stopped"), "\(lines)")
        }
    }

    @Test("a worker whose log is never read sends heartbeats, and SIGTERM ends it")
    func neverRead() async throws {
        try await withTestDatabase { database, configuration in
            let fast = ["ERRAND_LEASE": "3s", "ERRAND_HEARTBEAT_INTERVAL": "200ms", "ERRAND_LOG_LEVEL": "trace"]
            let worker = try StalledWorker(settings: reaching(configuration).merging(fast) { $1 })
            let heartbeat = "select coalesce(max(heartbeat_at)::text, '') from errand.worker"
            for _ in 0..<3 {
                let last = try await database.query(Statement(heartbeat)).scalar(String.self)
                #expect(try await becomes { try await database.query(Statement(heartbeat)).scalar(String.self) > last })
            }
            let start = ContinuousClock.now
            worker.send(SIGTERM)
            try #require(try await becomes { !worker.isRunning })
            #expect(worker.status == 0)
            #expect(ContinuousClock.now - start < .seconds(20))
        }
    }

    private let history = Statement("select count(*) from errand.history")

    private func becomes(_ isSo: () async throws -> Bool) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(40) {
            if try await isSo() { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}

/// A worker whose standard error is a full pipe.
private final class StalledWorker: Sendable {
    private let process = Process()
    private let pipe = Pipe()
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")

    init(settings: [String: String]) throws {
        let full = pipe.fileHandleForWriting.fileDescriptor
        let flags = fcntl(full, F_GETFL)
        _ = fcntl(full, F_SETFL, flags | O_NONBLOCK)
        let line = [UInt8](repeating: UInt8(ascii: "."), count: 1023) + [UInt8(ascii: "\n")]
        while write(full, line, line.count) > 0 {}
        _ = fcntl(full, F_SETFL, flags)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("errand")
        process.arguments = ["worker"]
        process.environment = settings.merging(["PATH": "/usr/bin:/bin"]) { given, _ in given }
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = pipe.fileHandleForWriting
        try process.run()
        try pipe.fileHandleForWriting.close()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    var isRunning: Bool { process.isRunning }
    var status: Int32 { process.terminationStatus }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Its output from now on until it exits.
    func read() -> Task<String, Never> {
        let reading = pipe.fileHandleForReading
        return Task {
            await withCheckedContinuation { done in
                DispatchQueue.global().async {
                    let bytes = (try? reading.readToEnd()) ?? Data()
                    done.resume(returning: String(decoding: bytes, as: UTF8.self))
                }
            }
        }
    }
}
