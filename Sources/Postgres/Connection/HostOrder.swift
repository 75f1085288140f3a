/// Decides which host of a URL a new connection tries next, without a clock or a connection.
///
/// The host that accepted last comes first, one that hung comes last. A host that can't be reached costs the whole
/// connect timeout, so once it has hung, one connection in ``hungInterval`` tries it, and all others pass it by.
struct HostOrder {
    enum Outcome {
        case accepted
        /// It replied that it isn't the right one, or nothing listens there.
        case refused
        /// It did not reply within ``refusalTimeout``.
        case hung
    }

    /// How long a host takes to refuse at most.
    static let refusalTimeout: Duration = .seconds(1)
    /// The time between two attempts to reach a host that hung.
    static let hungInterval: Duration = .seconds(2)

    private var order: [Int]
    /// Of hosts that hung: when the next connection may try them.
    private var nextTry: [Int: ContinuousClock.Instant] = [:]
    /// When a statement last got no reply by the client's deadline.
    private var stalled: [Int: ContinuousClock.Instant] = [:]

    init(count: Int) { order = Array(0..<count) }

    /// The next host to try, or nil if none is left. Never nil for the first one.
    mutating func next(after tried: [Int], at now: ContinuousClock.Instant) -> Int? {
        let left = order.filter { !tried.contains($0) }
        let chosen = left.first { nextTry[$0].map { $0 <= now } ?? true } ?? (tried.isEmpty ? left.first : nil)
        if let chosen, nextTry[chosen] != nil { nextTry[chosen] = now + Self.hungInterval }
        return chosen
    }

    mutating func note(_ outcome: Outcome, of host: Int, at now: ContinuousClock.Instant) {
        switch outcome {
        case .accepted:
            nextTry[host] = nil
            move(host, toFront: true)
        case .refused:
            nextTry[host] = nil
        case .hung:
            nextTry[host] = now + Self.hungInterval
            move(host, toFront: false)
        }
    }

    /// A statement got no reply: other hosts are tried first, and connections that were opened before are void.
    mutating func stalled(_ host: Int, at now: ContinuousClock.Instant) {
        stalled[host] = now
        move(host, toFront: false)
    }

    /// Whether the host has stalled since a connection to it was opened.
    func hasStalled(_ host: Int, since opened: ContinuousClock.Instant) -> Bool {
        stalled[host].map { $0 >= opened } ?? false
    }

    private mutating func move(_ host: Int, toFront: Bool) {
        order.removeAll { $0 == host }
        order.insert(host, at: toFront ? 0 : order.count)
    }
}
