/// What moved between two runs by more than the rounds of either differ among themselves.
public struct Comparison: Sendable {
    /// A number that moved.
    public struct Move: Sendable, Equatable {
        public let key: Results.Key
        public let before: Double
        public let after: Double
        public let isBetter: Bool
    }

    /// By scenario and contender, as measured in the later run.
    public let moves: [Move]
    /// How many numbers both runs have.
    public let compared: Int

    public init(before: Results, after: Results) {
        let (earlier, later) = (before.series, after.series)
        var moves: [Move] = []
        var compared = 0
        for scenario in after.scenarios {
            for contender in after.contenders(in: scenario) {
                for metric in Metric.allCases {
                    let key = Results.Key(scenario, contender, metric)
                    guard let old = earlier[key], let new = later[key] else { continue }
                    compared += 1
                    guard (new.median - old.median).magnitude > max(old.spread, new.spread) else { continue }
                    let isBetter = (new.median > old.median) == metric.isBetterHigh
                    moves.append(Move(key: key, before: old.median, after: new.median, isBetter: isBetter))
                }
            }
        }
        self.moves = moves
        self.compared = compared
    }

    /// A line a move, and one that says how many there were.
    public var lines: [String] {
        moves.map { move in
            let metric = move.key.metric
            let change = move.before == 0 ? "" : " (\(Self.percent(move.after / move.before - 1)))"
            return "\(move.isBetter ? "better" : "WORSE ") \(move.key.scenario) \(move.key.contender): \(metric.title) "
                + "\(metric.text(move.before)) -> \(metric.text(move.after))\(change)"
        } + ["\(moves.count) of \(compared) numbers moved by more than their rounds differ"]
    }

    private static func percent(_ part: Double) -> String {
        (part < 0 ? "" : "+") + Metric.text(part * 100, digits: 0) + " %"
    }
}
