import ArgumentParser
import Errand
import Foundation
import Subprocess
import SystemPackage

struct Describe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Say what it is, as JSON.")

    @OptionGroup var target: Target

    private struct Facts: Encodable {
        let name: String
        let version: String
        let settings: String
        let finished_job_is: String
        let unfinished: String
        let bulk: String
        let language = "Swift"
    }

    func run() async throws {
        let version = try await Program.errand(["--version"]).trimmingCharacters(in: .whitespacesAndNewlines)
        let table = target.variant == .bare ? Bare.table : "errand.job"
        let facts = Facts(
            name: target.variant.rawValue, version: version,
            settings: target.variant == .bare ? "plain SQL on a copy of errand.job" : "defaults of WorkerConfiguration",
            finished_job_is: target.variant == .bare ? "never taken" : "kept",
            unfinished: "select exists (select from \(table))",
            bulk: target.variant == .bare ? "COPY" : "Queue.enqueue(all:)")
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        say(String(decoding: try encoder.encode(facts), as: UTF8.self))
    }
}

struct Setup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make the schema in an empty database.")

    @OptionGroup var target: Target

    func run() async throws {
        _ = try await Program.errand(["migrate"])
        let database = try target.database()
        if target.variant == .bare {
            for statement in Bare.schema { try await database.execute(statement) }
        }
        await database.close()
    }
}

/// The program `errand`, in the folder that ERRAND_BIN names.
enum Program {
    /// What it prints.
    static func errand(_ arguments: [String]) async throws -> String {
        guard let folder = ProcessInfo.processInfo.environment["ERRAND_BIN"] else {
            throw ContenderError("ERRAND_BIN is not set: the folder of the program errand")
        }
        let result = try await Subprocess.run(
            .path(FilePath(folder).appending("errand")), arguments: Arguments(arguments),
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        guard result.terminationStatus.isSuccess else {
            throw ContenderError("errand \(arguments.joined(separator: " ")): \(result.standardError)")
        }
        return result.standardOutput
    }
}
