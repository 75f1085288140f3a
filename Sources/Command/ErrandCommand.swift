import ArgumentParser
import CProcess
import EngineSchema
import Foundation
import Postgres

/// The program: each subcommand is a file in Commands/.
@main
struct ErrandCommand: AsyncParsableCommand {
    static let version = StandIn.isOn ? StandIn.version : EngineSchema.version

    static let configuration = CommandConfiguration(
        commandName: "errand",
        abstract: "Job queue and scheduler in the PostgreSQL that you already run.",
        discussion: """
            Start with a database and its schema, then run everything in one process:

              export DATABASE_URL=postgresql://errand@localhost/app
              errand migrate
              errand storage init
              errand run

            Then, from SQL: select * from errand.enqueue('noop', '{"sleep_ms": 100}');

            Exit codes: 0 done, 1 failed, 64 usage, 69 the database or a store is unreachable, 78 configuration.
            """,
        version: version,
        groupedSubcommands: [
            CommandGroup(
                name: "Setup",
                subcommands: [
                    MigrateCommand.self, StorageCommand.self, CellsCommand.self, DoctorCommand.self,
                    ConfigCommand.self,
                ]),
            CommandGroup(
                name: "Service",
                subcommands: [
                    RunCommand.self, WorkerCommand.self, SchedulerCommand.self, WebCommand.self, APICommand.self,
                ]),
            CommandGroup(
                name: "Job",
                subcommands: [
                    StatusCommand.self, HealthCommand.self, EnqueueCommand.self, JobCommand.self, BatchCommand.self,
                    BulkCommand.self, ErrorsCommand.self, TimesCommand.self, CompareCommand.self, QueueCommand.self,
                    KindCommand.self, ScheduleCommand.self, LimitCommand.self, RateCommand.self, CircuitCommand.self,
                    EndpointCommand.self, TokenCommand.self, AuditCommand.self, UndoCommand.self,
                    RetentionCommand.self, SizesCommand.self, CallCommand.self,
                ]),
            CommandGroup(name: "App", subcommands: [MediaCommand.self]),
            CommandGroup(name: "Trial", subcommands: [ImageCommand.self, BenchCommand.self]),
        ])

    /// The arguments, the program's name first; Swift's own are lost under some preloaded libraries.
    static let arguments = (0..<process_argument_count()).map { String(cString: process_argument($0)) }

    static func main() async {
        // Before a secret is read. A failure is reported, but doesn't stop the program.
        let failure = process_hide_memory()
        if failure != 0 { writeError("errand: core dumps stay possible: \(String(cString: strerror(failure)))") }
        // A closed pipe (errand … | head) must not kill the program.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try await asyncParseAsRoot(Array(arguments.dropFirst()))
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            guard let failure = Failure(error) else {
                if exitCode(for: error) == .validationFailure, let hint = likelyCommand() {
                    writeError("errand: did you mean `\(hint)`?")
                }
                exit(withError: error)
            }
            failure.write()
            Foundation.exit(failure.code)
        }
    }

    /// For arguments without a known command, the most similar command: `errand job list` for `jbo list`.
    ///
    /// - Returns: nil if they name a command, or if none is similar.
    static func likelyCommand(_ arguments: [String] = Array(Self.arguments.dropFirst())) -> String? {
        var command: any ParsableCommand.Type = ErrandCommand.self
        var path = ["errand"]
        for argument in arguments {
            let known = command.configuration.subcommands
            if known.isEmpty || argument.hasPrefix("-") { return nil }
            let names = known.map { $0._commandName }
            guard let index = names.firstIndex(of: argument) else {
                return names.closest(to: argument).map { (path + [$0]).joined(separator: " ") }
            }
            command = known[index]
            path.append(argument)
        }
        return nil
    }
}

/// A failure of the program: one line, and an exit code that a script can test.
struct Failure: Error {
    let code: Int32
    let message: String

    static let failed: Int32 = 1
    /// EX_UNAVAILABLE and EX_CONFIG of sysexits.h.
    static let unreachable: Int32 = 69
    static let misconfigured: Int32 = 78

    init(code: Int32, _ message: String) {
        self.code = code
        self.message = message.printable
    }

    /// Nil for errors of the argument parser: usage, help, version.
    init?(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as ConfigurationError: self.init(code: Self.misconfigured, error.description)
        case let error as PostgresError: self.init(error)
        case is ExitCode, is CleanExit, is ValidationError: return nil
        default:
            // The parser's own errors know their exit code: usage.
            guard ErrandCommand.exitCode(for: error) == .failure else { return nil }
            self.init(code: Self.failed, "\(error)")
        }
    }

    private init(_ error: PostgresError) {
        // The schema, or a table or function of it, is missing.
        let isSchemaMissing = ["3F000", "42P01", "42883"].contains(error.sqlState ?? "")
        switch error.code {
        case _ where isSchemaMissing:
            self.init(
                code: Self.misconfigured,
                "the database has no schema of errand, or an older one: run `errand migrate` (\(error.detail))")
        case .schema, .configuration:
            self.init(code: Self.misconfigured, error.detail + (error.hint.map { " (\($0))" } ?? ""))
        case _ where error.sqlState == "42501":
            self.init(
                code: Self.failed,
                "\(error.description); errand_enqueuer may enqueue, errand_monitor may monitor, errand_ops may change: have one granted"
            )
        case .connectionLost where ConnectionAdvice(for: error.description).isConfiguration:
            self.init(code: Self.misconfigured, error.description)
        case .connectionLost, .poolExhausted, .timedOut: self.init(code: Self.unreachable, error.description)
        default: self.init(code: Self.failed, error.description)
        }
    }
}
