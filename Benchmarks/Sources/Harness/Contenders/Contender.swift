import Benchmark
import Foundation
import Subprocess
import SystemPackage

/// A program that takes part, called as README.md has it.
struct Contender: Sendable {
    let name: String
    /// The program, and what comes before the subcommand.
    let command: [String]
    /// What follows the subcommand in every call.
    var options: [String] = []
    /// Where what it says on standard error goes.
    let log: FilePath
    /// SQL that is true while a job isn't finished: from what it says of itself.
    var unfinished = "select false"

    /// Environment, standard error and a gentle end, the same for each call.
    private func environment(_ url: String) -> Environment { .inherit.updating(["DATABASE_URL": url]) }

    private static var gentleEnd: PlatformOptions {
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(3))]
        return options
    }

    private func arguments(_ call: [String]) -> Arguments {
        Arguments(Array(command.dropFirst()) + call.prefix(1) + options + call.dropFirst())
    }

    private func openLog() throws -> FileDescriptor {
        try .open(log, .writeOnly, options: [.create, .append], permissions: .ownerReadWrite)
    }

    /// Runs the program to its end; returns what it printed.
    func call(_ arguments: [String], on url: String) async throws -> Data {
        let errors = try openLog()
        let result = try await Subprocess.run(
            .path(FilePath(command[0])), arguments: self.arguments(arguments),
            environment: environment(url), platformOptions: Self.gentleEnd,
            output: .bytes(limit: 256 << 20), error: .fileDescriptor(errors, closeAfterSpawningProcess: true))
        guard result.terminationStatus.isSuccess else {
            throw BenchError("\(name) \(arguments.joined(separator: " ")): \(result.terminationStatus); see \(log)")
        }
        return Data(result.standardOutput)
    }

    /// Runs the program to its end, and hands over each line that it prints.
    func run(
        _ arguments: [String], on url: String, started: @Sendable (Int) -> Void, line: @Sendable (Substring) -> Void
    ) async throws {
        let errors = try openLog()
        let result = try await Subprocess.run(
            .path(FilePath(command[0])), arguments: self.arguments(arguments),
            environment: environment(url), platformOptions: Self.gentleEnd,
            input: .none, output: .sequence, error: .fileDescriptor(errors, closeAfterSpawningProcess: true)
        ) { execution in
            started(Int(execution.processIdentifier.value))
            for try await text in execution.standardOutput.strings() { line(text[...]) }
        }
        guard result.terminationStatus.isSuccess else {
            throw BenchError("\(name) \(arguments.joined(separator: " ")): \(result.terminationStatus); see \(log)")
        }
    }
}

// MARK: - The contract
extension Contender {
    func describe() async throws -> Results.Facts {
        try Self.decode(Results.Facts.self, from: await call(["describe"], on: ""), of: name)
    }

    func setUp(on url: String) async throws { _ = try await call(["setup"], on: url) }

    /// The seconds of the enqueueing alone.
    func enqueue(_ jobs: Int, _ options: [String] = [], on url: String) async throws -> Double {
        struct Reply: Decodable { let seconds: Double }
        let call = ["enqueue", "--jobs", "\(jobs)"] + options
        return try Self.decode(Reply.self, from: await self.call(call, on: url), of: name).seconds
    }

    struct Produced: Decodable {
        let jobs: Int
        let seconds: Double
        let latency_us: [Int]
    }

    func produce(
        clients: Int = 1, seconds: Double, rate: Double? = nil, isTransactional: Bool = false, _ options: [String] = [],
        on url: String
    ) async throws -> Produced {
        var arguments = ["produce", "--clients", "\(clients)", "--seconds", "\(seconds)"]
        if let rate { arguments += ["--rate", "\(rate)"] }
        if isTransactional { arguments.append("--transactional") }
        arguments += options
        return try Self.decode(Produced.self, from: await call(arguments, on: url), of: name)
    }

    /// The last line of what was printed: libraries may greet before.
    private static func decode<T: Decodable>(_ type: T.Type, from data: Data, of name: String) throws -> T {
        guard let last = data.split(separator: 10).last else { throw BenchError("\(name): printed nothing") }
        do {
            return try JSONDecoder().decode(type, from: Data(last))
        } catch {
            throw BenchError("\(name): printed \(String(decoding: last.prefix(200), as: UTF8.self)): \(error)")
        }
    }
}
