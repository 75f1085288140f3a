import Benchmark
import Foundation
import SystemPackage

/// Photos of 12 megapixels, one and two at a time, by Errand and by the tools that people use instead; by
/// ../../../Images/tools.py.
///
/// A job is a photo here. Errand's processes run already, as in a worker; `/folder` is `errand image compress` as a
/// whole.
struct Images: Scenario {
    let name = "images"
    let about = "JPEGs of 12 megapixels brought below 500,000 bytes, one and two at a time; a job is a photo"
    let peers = Peers.none
    let comparesCommits = false
    let baselines = Images.tools
    let seconds = 40.0

    static let tools: Set = ["vipsthumbnail", "imagemagick", "jpegoptim"]
    /// A result has fewer bytes.
    private static let limit = 500_000

    func run(_ contender: Contender, in context: RunContext) async throws -> [String: Values] {
        let photos = try await Photos.made(in: context)
        let figures = { (tool: String, atOnce: Int) in
            let out = FileManager.default.temporaryDirectory.appendingPathComponent("errand-bench-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: out) }
            let reply = try await context.python(
                "tools.py",
                [
                    tool, "compress", photos.folder.string, out, "--errand", context.programs.string,
                    "--at-once", "\(atOnce)", "--passes", context.isFull ? "1" : "2",
                ])
            return try JSONDecoder().decode(ImageFigures.self, from: Data(reply.utf8))
        }
        var outcome: [String: ImageFigures] = [:]
        for (part, atOnce) in [("/one", 1), ("/two", 2)] { outcome[part] = try await figures(contender.name, atOnce) }
        if contender.name == "errand" {
            outcome["/folder"] = try await figures("folder", 2)
            for (part, figures) in outcome where figures.largest >= Self.limit {
                throw BenchError("errand: a result of \(figures.largest) bytes in images\(part)")
            }
        }
        return outcome.mapValues(\.values)
    }
}

/// What tools.py says; its names are those of its JSON.
struct ImageFigures: Decodable {
    let seconds: Double
    let us: [Int]
    let cpu_us: Double?
    let peak_bytes: Double?
    let largest: Int

    var values: Values {
        var values = Latencies(microseconds: us).values
        values[.rate] = Double(us.count) / seconds
        values[.workerCPU] = cpu_us.map { $0 / Double(us.count) }
        values[.peakMemory] = peak_bytes.map { $0 / Double(1 << 20) }
        return values
    }
}
