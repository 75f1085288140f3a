import ArgumentParser
import Errand
import Foundation
import Logging

/// Writes one line for the start of a process that serves, with its settings, and one for its end, with the reason.
struct ProcessLog: Sendable {
    private let name: String
    private let environment: Environment
    private let start = ContinuousClock.now

    /// - Parameter name: what serves: `worker`, `scheduler`, `web` or `run`.
    init(_ name: String, _ environment: Environment) {
        self.name = name
        self.environment = environment
    }

    /// Runs `serve` between the two lines.
    ///
    /// - Throws: what `serve` throws; ``ExitCode`` instead if its reason is in the line already.
    func around(_ serve: () async throws -> Void) async throws {
        environment.logger.info(
            "started",
            metadata: [
                "process": "\(name)", "version": "\(ErrandCommand.version)",
                "pid": .stringConvertible(ProcessInfo.processInfo.processIdentifier),
                "settings": .dictionary(environment.settings.shown.mapValues { .string($0) }),
            ])
        do {
            try await serve()
        } catch {
            guard environment.logFormat == .json, let failure = Failure(error) else { throw error }
            failed(failure)
            throw ExitCode(failure.code)
        }
        environment.logger.info("ended", metadata: fields(reason: StopSignals.received ?? "stopped", code: 0))
    }

    /// Writes the line of a failure. For people it is the line of every command that fails.
    func failed(_ failure: Failure) {
        guard environment.logFormat == .json else { return failure.write() }
        environment.logger.critical("ended", metadata: fields(reason: failure.message, code: failure.code))
    }

    private func fields(reason: String, code: Int32) -> Logger.Metadata {
        [
            "process": "\(name)", "reason": "\(reason)", "exit_code": .stringConvertible(code),
            "uptime_seconds": .stringConvertible((ContinuousClock.now - start) / .seconds(1)),
        ]
    }
}

extension Failure {
    /// Writes its line to standard error.
    func write() { LogWriter.standardError.write("errand: \(message)\n") }
}

extension Settings {
    /// The values in force by variable, for people; secrets are hidden.
    var shown: [String: String] {
        let pairs = Setting.all.compactMap { setting in
            value(setting).map { (setting.variable, setting.mayShow($0.text) ? $0.text : "(hidden)") }
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }
}
