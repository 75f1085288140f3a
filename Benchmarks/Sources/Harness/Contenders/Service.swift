import Foundation
import SystemPackage

/// A program that serves beside a measurement, such as `errand scheduler`.
struct Service: Sendable {
    /// The program, with what its environment has beside DATABASE_URL.
    private let program: Contender
    private let arguments: [String]

    /// - Parameters:
    ///   - arguments: its subcommand and what follows.
    ///   - environment: what is set for it beside DATABASE_URL.
    init(_ arguments: [String], of contender: Contender, in context: RunContext, environment: [String: String] = [:]) {
        let settings = environment.map { "\($0)=\($1)" }.sorted()
        // `env` becomes the program: the process is the same.
        program = Contender(
            name: "errand",
            command: ["/usr/bin/env"] + settings + [context.programs(of: contender).appending("errand").string],
            log: contender.log)
        self.arguments = arguments
    }

    /// Runs a command until it exits.
    func run(on url: String) async throws {
        try await program.run(arguments, on: url) { _ in
        } line: { _ in
        }
    }

    /// Runs `body` beside it, with its process, and ends it gently after.
    ///
    /// - Throws: what `body` throws; a ``BenchError`` if the program fails before `body` is done.
    func running<T: Sendable>(on url: String, _ body: @escaping @Sendable (Int) async throws -> T) async throws -> T {
        let (started, continuation) = AsyncStream.makeStream(of: Int.self)
        return try await withThrowingTaskGroup(of: T?.self) { group in
            group.addTask {
                defer { continuation.finish() }
                try await program.run(arguments, on: url) {
                    continuation.yield($0)
                } line: { _ in
                }
                return nil
            }
            group.addTask {
                guard let process = await started.first(where: { _ in true }) else {
                    throw BenchError("errand \(arguments.joined(separator: " ")): did not start")
                }
                defer { kill(pid_t(process), SIGTERM) }
                return try await body(process)
            }
            var result: T?
            for try await part in group { result = part ?? result }
            guard let result else { throw BenchError("errand \(arguments.joined(separator: " ")): ended by itself") }
            return result
        }
    }

    /// Microseconds of CPU of a process and of what it has started.
    static func processorTime(of process: Int) -> Double {
        ProcessFigures.tree(of: process).reduce(0) { $0 + $1.processorTime + $1.processorTimeOfEnded }
    }
}
