import ErrandTestKit
import Foundation
import Postgres
import Testing

/// The built program `errand`. Each run waits until it exits.
struct Program {
    let code: Int32
    let output: String
    let errors: String

    /// Runs it in an empty folder. The environment has only `settings`.
    ///
    /// - Parameters:
    ///   - program: another program, by its path; a name alone is one that was built together with the tests.
    ///   - signals: each is sent once standard error has its text.
    ///   - after: the signals also wait for the end of this.
    static func run(
        _ arguments: [String], of program: String = "errand", settings: [String: String] = [:],
        signals: [(after: String, Int32)] = [], after: Task<Bool, any Error>? = nil
    ) async throws -> Program {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (output, errors) = (folder.appendingPathComponent("output"), folder.appendingPathComponent("errors"))
        for file in [output, errors] { try Data().write(to: file) }
        let process = Process()
        // The test bundle is in the folder of the programs.
        let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        process.executableURL = URL(fileURLWithPath: program, relativeTo: built).absoluteURL
        process.arguments = arguments
        // On a free port, because several tests run concurrently.
        let own = arguments.first == "run" ? ["ERRAND_WEB_ADDRESS": "127.0.0.1:0"] : [:]
        process.environment = settings.merging(own.merging(["PATH": "/usr/bin:/bin"]) { $1 }) { given, _ in given }
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        let handles = try [output, errors].map { try FileHandle(forWritingTo: $0) }
        process.standardOutput = handles[0]
        process.standardError = handles[1]
        try process.run()
        // A `Process` that has run is never released, nor are its pipes.
        for handle in handles { try handle.close() }
        _ = try await after?.value
        var pending = signals[...]
        let start = ContinuousClock.now
        while process.isRunning {
            if let next = pending.first, try String(contentsOf: errors, encoding: .utf8).contains(next.after) {
                kill(process.processIdentifier, next.1)
                pending = pending.dropFirst()
            }
            if ContinuousClock.now - start > .seconds(60) {
                kill(process.processIdentifier, SIGKILL)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        return Program(
            code: process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus,
            output: try String(contentsOf: output, encoding: .utf8),
            errors: try String(contentsOf: errors, encoding: .utf8))
    }

    /// The last line on standard error.
    var error: String { errors.split(separator: "\n").last.map(String.init) ?? "" }

    /// The lines of standard error, each a JSON object.
    func jsonLines() throws -> [[String: Any]] {
        try errors.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }
}

/// The settings for this test's database.
func reaching(_ configuration: PostgresConfiguration) throws -> [String: String] {
    ["DATABASE_URL": try TestServer.url(of: configuration)]
}

/// The same with options of the session, such as `-c role=errand_monitor`; without the pooler, which rejects them.
func reaching(_ configuration: PostgresConfiguration, options: String) throws -> [String: String] {
    var url = try #require(URLComponents(string: TestServer.url(of: configuration, directly: true)))
    url.queryItems = (url.queryItems ?? []) + [URLQueryItem(name: "options", value: options)]
    return ["DATABASE_URL": try #require(url.string)]
}

/// Runs `body` with the settings of a login that has this option, such as a limit of its connections.
func withLogin(
    _ option: String = "", in roles: String = "errand_worker", of configuration: PostgresConfiguration,
    on database: Database, _ body: (_ settings: [String: String], _ name: String) async throws -> Void
) async throws {
    let name = "test_\(UUID().uuidString.prefix(8).lowercased())"
    try await database.execute(Statement("create role \(name) login \(option) in role \(roles)"))
    let url = try TestServer.url(of: configuration, directly: true, user: name)
    let result: Result<Void, any Error>
    do {
        try await body(["DATABASE_URL": url], name)
        result = .success(())
    } catch {
        result = .failure(error)
    }
    try await database.execute(Statement("drop role \(name)"))
    try result.get()
}

/// Occupies a port until the socket is closed.
func takePort() throws -> (socket: Int32, address: String) {
    let holder = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            bind(holder, pointer, size) == 0 && Foundation.listen(holder, 1) == 0
                && getsockname(holder, pointer, &size) == 0
        }
    }
    try #require(isListening)
    return (holder, "127.0.0.1:\(UInt16(bigEndian: address.sin_port))")
}
