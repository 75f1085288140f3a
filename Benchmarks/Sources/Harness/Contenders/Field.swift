import Foundation
import SystemPackage

/// Who can take part, and how much each is given to do.
struct Field: Sendable {
    let all: [Contender]

    /// - Parameters:
    ///   - root: the checkout.
    ///   - programs: the folder of `ErrandContender`.
    ///   - before: the folder of `ErrandContender` and `errand` as another commit has them, if one is to be compared
    ///     with.
    ///   - log: where standard error of all goes.
    init(root: FilePath, programs: FilePath, before: FilePath?, log: FilePath) {
        let errand = programs.appending("ErrandContender").string
        var all = [
            Contender(name: "errand", command: [errand], log: log),
            Contender(name: "c", command: [root.appending("Benchmarks/Queue/contender.sh").string], log: log),
            Contender(name: "bare", command: [errand], options: ["--variant", "bare"], log: log),
        ]
        if let before {
            let program = before.appending("ErrandContender").string
            let command = ["/usr/bin/env", "ERRAND_BIN=\(before)", program]
            all.append(Contender(name: Self.before, command: command, log: log))
        }
        let peers = root.appending("Benchmarks/Peers").string
        let python = root.appending(".errand/bench-tools/venv/bin/python").string
        for file in ((try? FileManager.default.contentsOfDirectory(atPath: peers)) ?? []).sorted() {
            let path = FilePath(peers).appending(file)
            guard path.extension == "py", let stem = path.stem, stem.hasPrefix("peer_") else { continue }
            all.append(Contender(name: String(stem.dropFirst(5)), command: [python, path.string], log: log))
        }
        for tool in Images.tools.sorted() {
            let program = root.appending("Benchmarks/Images/tools.py").string
            all.append(Contender(name: tool, command: [python, program, tool], log: log))
        }
        self.all = all
    }

    /// Jobs that a peer drains in a second, about: it is given no more than it can do in some seconds.
    static func throughput(of name: String) -> Double { own.contains(name) ? .infinity : throughputs[name] ?? 500 }

    private static let throughputs: [String: Double] = [
        "errand_python": 15_000, "pgqueuer": 13_000, "awa": 6_500, "oban": 1_300, "chancy": 2_500,
        "procrastinate": 250, "absurd": 500,
    ]

    /// Errand as another commit has it.
    static let before = "errand-before"

    /// Errand and the baselines, which are no queues for everybody.
    static let own = Set(["errand", before, "c", "bare"]).union(Images.tools)
    static let leading: Set = ["errand_python", "pgqueuer"]
}
