import Foundation
import Glibc

/// What the kernel says of one process.
struct ProcessFigures: Sendable {
    let id: Int
    let parent: Int
    /// Microseconds of CPU, in steps of 10 ms.
    let processorTime: Double
    /// The same of its children that have ended.
    let processorTimeOfEnded: Double

    private static let tick = 1_000_000 / Double(sysconf(Int32(_SC_CLK_TCK)))

    /// nil if there is no such process.
    init?(of id: Int) {
        guard let stat = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
            // The name is in brackets and may have any characters.
            let nameEnd = stat.lastIndex(of: ")")
        else { return nil }
        let fields = stat[nameEnd...].dropFirst(2).split(separator: " ").map { Double($0) ?? 0 }
        guard fields.count > 14 else { return nil }
        self.id = id
        parent = Int(fields[1])
        processorTime = (fields[11] + fields[12]) * Self.tick
        processorTimeOfEnded = (fields[13] + fields[14]) * Self.tick
    }

    static var all: [ProcessFigures] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int($0) }.compactMap(ProcessFigures.init(of:))
    }

    /// A process with all that it has started.
    static func tree(of root: Int) -> [ProcessFigures] {
        let everything = all
        var tree = everything.filter { $0.id == root }
        var parents: Set = [root]
        while true {
            let children = everything.filter { parents.contains($0.parent) }
            if children.isEmpty { return tree }
            tree += children
            parents = Set(children.map(\.id))
        }
    }

    /// Bytes in memory: now, and at most so far.
    var memory: (now: Double, peak: Double) {
        let status = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
        func kilobytes(_ name: String) -> Double {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0
        }
        let now = kilobytes("VmRSS") * 1024
        // The kernel brings its mark up to date now and then only.
        return (now, max(now, kilobytes("VmHWM") * 1024))
    }
}
