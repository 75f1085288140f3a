import ArgumentParser
import Errand
import Foundation
import Logging

/// Errand as a contender of the bench, on what its library offers to everybody; the contract is in ../../README.md.
@main struct ContenderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ErrandContender",
        abstract: "Errand as a contender of the bench.",
        subcommands: [Describe.self, Setup.self, EnqueueJobs.self, Produce.self, Work.self])

    /// Wrong usage ends with 2, as the contract has it, and all else with 1 and one line that says what.
    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let code = exitCode(for: error)
            guard code != .success else { exit(withError: error) }
            let isUsage = code == .validationFailure
            FileHandle.standardError.write(Data((isUsage ? fullMessage(for: error) : "\(error)").utf8 + [10]))
            Foundation.exit(isUsage ? 2 : 1)
        }
    }
}

/// What every subcommand is told.
struct Target: ParsableArguments {
    @Option(help: "errand or bare (its table alone, by plain SQL).")
    var variant = Variant.errand

    /// - Parameter connections: open at the same time.
    func database(connections: Int = 4) throws -> Database {
        guard let url = ProcessInfo.processInfo.environment["DATABASE_URL"] else {
            throw ContenderError("DATABASE_URL is not set")
        }
        var configuration = try PostgresConfiguration(url: url)
        // A bare COPY of all jobs is one statement, and takes what it takes.
        configuration.statementTimeout = variant == .bare ? nil : configuration.statementTimeout
        return Database(
            configuration: configuration, maximumConnections: connections, waitLimit: .seconds(60), logger: Self.logger)
    }

    /// The queue of that number, where a call has `--queues`.
    static func queueName(_ number: Int) -> String { "bench-\(number)" }

    static var logger: Logger {
        var logger = Logger(label: "ErrandContender")
        logger.logLevel = .warning
        return logger
    }
}

enum Variant: String, ExpressibleByArgument {
    case errand, bare
}

struct ContenderError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Writes a line and flushes it, also if standard output is no terminal.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// Microseconds since 1970.
func microsecondsNow() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}
