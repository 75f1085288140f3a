/// A bound that one number keeps, alone or as a multiple of another one of the same run.
public struct Promise: Sendable {
    public enum Bound: Sendable, Equatable {
        case atLeast(Double, times: Results.Key)
        case atMost(Double, times: Results.Key)
        case below(Results.Key)
        case noMore(Double)
    }

    /// What became of it. `open` is one whose numbers weren't measured.
    public enum Verdict: String, Sendable { case ok, short, open }

    public let what: String
    public let key: Results.Key
    public let bound: Bound

    public init(_ what: String, _ key: Results.Key, _ bound: Bound) {
        self.what = what
        self.key = key
        self.bound = bound
    }

    /// The verdict, and both numbers in words; of medians.
    public func verdict(in series: [Results.Key: Series]) -> (Verdict, String) {
        guard let value = series[key]?.median else { return (.open, "\(what): not measured") }
        let own = "\(what): \(key.metric.text(value)) \(key.metric.title)"
        let (other, limit, relation): (Results.Key, Double, String)
        switch bound {
        case .noMore(let limit):
            return (value <= limit ? .ok : .short, "\(own), at most \(key.metric.text(limit))")
        case .atLeast(let factor, let key): (other, limit, relation) = (key, factor, "at least")
        case .atMost(let factor, let key): (other, limit, relation) = (key, factor, "at most")
        case .below(let key): (other, limit, relation) = (key, 1, "below")
        }
        guard let reference = series[other]?.median, reference > 0 else {
            return (.open, "\(own); \(other.contender) in \(other.scenario): not measured")
        }
        let ratio = value / reference
        let holds =
            switch bound {
            case .atLeast: ratio >= limit
            case .below: ratio < limit
            case .atMost, .noMore: ratio <= limit
            }
        let name = other.scenario == key.scenario ? other.contender : "\(other.contender) in \(other.scenario)"
        return (
            holds ? .ok : .short,
            "\(own), \(name) \(other.metric.text(reference)): ratio \(Metric.text(ratio, digits: 2)), "
                + "\(relation) \(Metric.text(limit, digits: 2))"
        )
    }
}
