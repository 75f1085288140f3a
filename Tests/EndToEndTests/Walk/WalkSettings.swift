/// Which limits, rates and pauses were in force, as far as can be known: a change holds from its commit on, and that
/// lies between the change of its row and the acknowledgement.
struct WalkSettings {
    private struct Value {
        /// Not in force before this; in force from `certain` on.
        var possible: Int64
        var certain: Int64
        var most: Int?
        var per: Int64 = 0
    }

    private var limits: [String: [Value]] = [:]
    private var rates: [String: Value] = [:]
    private var pauses: [String: [Value]] = [:]
    private var starts: [String: [Int64]] = [:]

    /// - Parameter acknowledgedAt: nil if the commit was never acknowledged, or the program made the change.
    mutating func apply(_ event: WalkEvent, acknowledgedAt: Int64?) {
        let value = Value(
            possible: event.at, certain: acknowledgedAt ?? .max, most: event.action == .delete ? nil : event.most,
            per: event.per)
        switch event.relation {
        case .limit: limits[event.queue, default: []].append(value)
        case .rate:
            rates[event.queue] = value
            starts[event.queue] = []
        default: pauses[event.queue, default: []].append(value)
        }
    }

    /// The maximum limit of a key at any time between the two.
    func limit(_ key: String, from began: Int64, to at: Int64) -> Int {
        let exact = possible(limits[key] ?? [], from: began, to: at)
        let highest = exact.compactMap(\.self).max()
        if exact.allSatisfy({ $0 != nil }) { return highest ?? .max }
        // A key without a limit has that of the longest matching prefix.
        let patterns = limits.keys.filter { $0.hasSuffix("*") && key.hasPrefix($0.dropLast()) }
        guard let pattern = patterns.max(by: { $0.count < $1.count }) else { return .max }
        let wide = possible(limits[pattern] ?? [], from: began, to: at)
        guard wide.allSatisfy({ $0 != nil }) else { return .max }
        return max(highest ?? 0, wide.compactMap(\.self).max() ?? 0)
    }

    /// Whether a queue was paused all the time between the two.
    func isPaused(_ queue: String, from began: Int64, to at: Int64) -> Bool {
        possible(pauses[queue] ?? [], from: began, to: at).allSatisfy { $0 != nil }
    }

    /// Records the start of a job in a queue. Returns the violation of the queue's rate; nil if there is none.
    ///
    /// Starts count from the moment at which their claims certainly knew the rate.
    mutating func start(in queue: String, began: Int64, at: Int64) -> String? {
        guard let rate = rates[queue], let allowed = rate.most, rate.certain < began else { return nil }
        starts[queue, default: []].removeAll { $0 <= at - rate.per }
        starts[queue, default: []].append(at)
        let count = starts[queue]?.count ?? 0
        return count > allowed ? "\(count) jobs of \(queue) started within \(rate.per) us, \(allowed) may" : nil
    }

    /// The values that may have been in force between the two; nil is no value.
    private func possible(_ values: [Value], from began: Int64, to at: Int64) -> [Int?] {
        let known = values.lastIndex { $0.certain <= began }
        let later = values.dropFirst((known ?? -1) + 1).filter { $0.possible <= at }.map(\.most)
        return [known.flatMap { values[$0].most }] + later
    }
}
