import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@testable import Command

@Suite("What systemd hears") struct ServiceManagerTests {
    @Test("a worker and a scheduler say that they are ready, then that they live, and that they end")
    func notifies() async throws {
        try await withTestDatabase { _, configuration in
            for process in ["worker", "scheduler"] {
                let socket = try NotifySocket()
                var settings = try reaching(configuration)
                (settings["NOTIFY_SOCKET"], settings["WATCHDOG_USEC"]) = (socket.path, "200000")
                let lives = Task { () throws -> Bool in
                    let start = ContinuousClock.now
                    while socket.texts.count < 3, .now - start < .seconds(50) {
                        try await Task.sleep(for: .milliseconds(10))
                    }
                    return true
                }
                let program = try await Program.run(
                    [process], settings: settings, signals: [("started", SIGTERM)], after: lives)
                #expect(program.code == 0, "\(program.errors)")
                let texts = socket.texts
                #expect(texts.first == "READY=1\nSTATUS=ready" && texts.last?.hasPrefix("STOPPING=1\n") == true)
                #expect(texts.dropFirst().prefix(2) == ["WATCHDOG=1", "WATCHDOG=1"], "\(process): \(texts)")
            }
        }
    }

    @Test("nothing is told without a socket, and the watchdog of another process is ignored")
    func ignores() throws {
        #expect(ServiceManager([:], logger: .init(label: "test")) == nil)
        #expect(ServiceManager(["NOTIFY_SOCKET": ""], logger: .init(label: "test")) == nil)
        let other = ["NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"]
        #expect(try #require(ServiceManager(other, logger: .init(label: "test"))).interval == nil)
        let own = other.merging(["WATCHDOG_PID": "\(ProcessInfo.processInfo.processIdentifier)"]) { $1 }
        #expect(try #require(ServiceManager(own, logger: .init(label: "test"))).interval == .seconds(1))
    }
}

/// A socket such as systemd's.
private final class NotifySocket: @unchecked Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("n\(UUID().uuidString.prefix(8))").path
    private let handle: Int32
    private var heard: [String] = []

    init() throws {
        handle = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(handle, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0, "\(String(cString: strerror(errno)))")
    }

    deinit {
        close(handle)
        unlink(path)
    }

    /// All that was sent so far.
    var texts: [String] {
        var bytes = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = recv(handle, &bytes, bytes.count, 0)
            guard count > 0 else { return heard }
            heard.append(String(decoding: bytes.prefix(count), as: UTF8.self))
        }
    }
}
