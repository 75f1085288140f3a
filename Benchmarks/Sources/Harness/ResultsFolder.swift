import Benchmark
import Foundation

/// Where results are kept: a file a run, named by when it began.
struct ResultsFolder {
    let path: String

    func make() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    func file(_ name: String, _ ending: String) -> String { "\(path)/\(name).\(ending)" }

    func write(_ results: Results) throws {
        try results.json().write(to: URL(fileURLWithPath: file(results.started, "json")), options: .atomic)
    }

    func read(_ file: String) throws -> (name: String, results: Results) {
        (file, try Results(json: Data(contentsOf: URL(fileURLWithPath: file))))
    }

    /// The latest of the other runs that has numbers to compare with; files that this version can't read are passed
    /// over.
    func newest(before results: Results) throws -> (name: String, results: Results)? {
        let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".json") }
        return names.sorted(by: >).lazy.compactMap { try? read("\(path)/\($0)") }.first { _, earlier in
            earlier.started < results.started && earlier.isFull == results.isFull
                && Comparison(before: earlier, after: results).compared > 0
        }
    }
}
