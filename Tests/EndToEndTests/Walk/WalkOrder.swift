/// Which jobs have joined their order keys, as far as can be known: a job joins by the change that first makes it ready
/// to run, and is seen by others from the acknowledgement of that commit on.
struct WalkOrder {
    private struct Entry {
        /// When the transaction began by which it joined.
        var began: Int64
        /// From when on all others see it; nil if that isn't known.
        var seen: Int64?
    }

    /// By the job, for each key.
    private var entries: [String: [Int64: Entry]] = [:]
    private var running: [String: Set<Int64>] = [:]
    /// Failed, and to be retried or discarded before others of their key run.
    private var blocking: [String: Set<Int64>] = [:]

    /// Takes a job's new row.
    ///
    /// - Parameter acknowledgedAt: when the commit of the change was acknowledged; nil if it never was, or the program
    ///   made the change.
    mutating func enter(_ row: WalkEvent, acknowledgedAt: Int64?) {
        guard let key = row.orderKey else { return }
        switch row.relation {
        case .failed where row.blocksOrder: blocking[key, default: []].insert(row.id)
        case .job:
            blocking[key]?.remove(row.id)
            if row.state == "running" { running[key, default: []].insert(row.id) }
            let isReady = row.position != nil || row.parkedFor?.hasPrefix("order:") == true
            if isReady, entries[key]?[row.id] == nil {
                entries[key, default: [:]][row.id] = Entry(began: row.began, seen: acknowledgedAt)
            } else if row.cause.operation != nil {
                // An operator may have moved it to later, and it may have left.
                entries[key]?[row.id]?.seen = nil
            }
        default: entries[key]?[row.id] = nil
        }
    }

    /// Takes the end of a job's row: another one follows, unless it left its relation.
    mutating func leave(_ row: WalkEvent) {
        guard let key = row.orderKey else { return }
        running[key]?.remove(row.id)
        if row.relation == .failed { blocking[key]?.remove(row.id) }
    }

    /// The rule that a job's start breaks; nil if there is none.
    func fault(ofStart row: WalkEvent) -> String? {
        guard let key = row.orderKey else { return nil }
        if let other = running[key]?.first(where: { $0 != row.id }) {
            return "it started beside job \(other) of its order key"
        }
        if let other = blocking[key]?.first(where: { $0 != row.id }) {
            return "it started though job \(other) of its order key has failed"
        }
        let own = entries[key]?[row.id]?.began ?? row.began
        let earlier = entries[key]?.first { id, entry in id < row.id && entry.seen.map { $0 < own } == true }
        return earlier.map { "it started before job \($0.key) of its order key" }
    }
}

/// The bound of a rate of keys, which stays as it is until the walk removes it.
struct WalkMeter {
    /// What the keys begin with.
    var keys: String
    /// Fewer microseconds than the rate's own span: a claim counts a start a moment before it changes the row.
    var span: Int64
    var most: Int
    /// When it was removed.
    var end = Int64.max

    private var starts: [String: [(id: Int64, at: Int64)]] = [:]

    init(keys: String, span: Int64, most: Int) {
        (self.keys, self.span, self.most) = (keys, span, most)
    }

    /// Records a start. Returns the rule that it breaks; nil if there is none.
    mutating func start(_ row: WalkEvent) -> String? {
        guard row.at < end, let key = row.rateKey, key.hasPrefix(keys) else { return nil }
        starts[key, default: []].removeAll { $0.at <= row.at - span }
        starts[key, default: []].append((row.id, row.at))
        let near = starts[key] ?? []
        guard near.count > most else { return nil }
        let ids = near.map { "\($0.id) \((row.at - $0.at) / 1000) ms before" }.joined(separator: ", ")
        return "\(near.count) jobs of \(key) started within \(span) us, \(most) may: \(ids)"
    }
}
