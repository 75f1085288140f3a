import Foundation
import Subprocess
import SystemPackage

/// JPEGs of 12 megapixels, made once from real photographs and kept beside the bench's results.
struct Photos: Sendable {
    let folder: FilePath
    let names: [String]

    /// Makes those that aren't there yet: 8, in a full run 40.
    static func made(in context: RunContext) async throws -> Photos {
        let count = context.isFull ? 40 : 8
        let folder = context.root.appending(".errand/bench-photos/\(count)")
        var names = try names(in: folder)
        if names.count != count {
            try await context.python("make-photos.py", [folder.string, "\(count)", "12"])
            names = try self.names(in: folder)
        }
        return Photos(folder: folder, names: names)
    }

    private static func names(in folder: FilePath) throws -> [String] {
        let files = FileManager.default
        return files.fileExists(atPath: folder.string)
            ? try files.contentsOfDirectory(atPath: folder.string).sorted() : []
    }
}

extension RunContext {
    /// A program of ../../../Images; returns what it prints.
    @discardableResult
    func python(_ program: String, _ arguments: [String]) async throws -> String {
        let result = try await Subprocess.run(
            .path(root.appending(".errand/bench-tools/venv/bin/python")),
            arguments: Arguments([root.appending("Benchmarks/Images/\(program)").string] + arguments),
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        guard result.terminationStatus.isSuccess else { throw BenchError("\(program): \(result.standardError)") }
        return result.standardOutput
    }
}
