/// Slows log-ins after failures: of an address, of a name, and of all together. Its memory is bounded.
///
/// The first 5 failures of an address cost nothing. Each further one doubles the wait before the next try, from 1 s to
/// 15 minutes. An address is forgotten an hour after its last failure. A name may fail 20 times a minute, so that many
/// addresses guess no faster, and all names together 120 times, for each takes the time of a hash.
///
/// The bounds of names and of all don't hold for a person at an address where that person has logged in within 30 days:
/// nobody else can shut these out.
struct LoginThrottle {
    private struct Failures {
        var count = 0
        var last: ContinuousClock.Instant
        var mayTryAt: ContinuousClock.Instant
    }

    /// The failures within a minute from the first one on.
    private struct Minute {
        var start: ContinuousClock.Instant
        var failures = 0

        func isOver(_ now: ContinuousClock.Instant) -> Bool { start + .seconds(60) <= now }

        /// How long until it is over, if it has as many failures as are allowed.
        func wait(most: Int, _ now: ContinuousClock.Instant) -> Duration? {
            isOver(now) || failures < most ? nil : start + .seconds(60) - now
        }
    }

    private struct Origin: Hashable {
        let name: String
        let address: [UInt8]
    }

    private var addresses: [[UInt8]: Failures] = [:]
    private var names: [String: Minute] = [:]
    private var all: Minute?
    /// When a person last logged in at an address.
    private var logIns: [Origin: ContinuousClock.Instant] = [:]
    private static let mostAddresses = 10_000
    private static let mostOrigins = 1000
    private static let mostFailuresOfName = 20
    private static let mostFailuresOfAll = 120

    /// Whether the person has logged in at this address within 30 days.
    func isKnown(_ address: [UInt8], name: String, now: ContinuousClock.Instant) -> Bool {
        logIns[Origin(name: name, address: address)].map { $0 + .seconds(30 * 86_400) > now } ?? false
    }

    /// How long the address has to wait before its next try; nil if it may try now. Without a name, as with a token,
    /// only the address counts.
    func wait(_ address: [UInt8], name: String? = nil, now: ContinuousClock.Instant) -> Duration? {
        if let known = addresses[address], known.mayTryAt > now { return known.mayTryAt - now }
        guard let name, !isKnown(address, name: name, now: now) else { return nil }
        let waits = [
            names[name]?.wait(most: Self.mostFailuresOfName, now), all?.wait(most: Self.mostFailuresOfAll, now),
        ]
        return waits.compactMap(\.self).max()
    }

    mutating func failed(_ address: [UInt8], name: String? = nil, now: ContinuousClock.Instant) {
        var known = addresses[address] ?? Failures(last: now, mayTryAt: now)
        if known.last + .seconds(3600) < now { known.count = 0 }
        known.count += 1
        known.last = now
        if known.count > 5 { known.mayTryAt = now + .seconds(min(900, 1 << min(known.count - 6, 10))) }
        if addresses[address] == nil, addresses.count >= Self.mostAddresses { prune(now) }
        addresses[address] = known
        guard let name, !isKnown(address, name: name, now: now) else { return }
        if all?.isOver(now) ?? true {
            all = Minute(start: now)
            names = names.filter { !$0.value.isOver(now) }
        }
        all?.failures += 1
        if names[name]?.isOver(now) ?? true { names[name] = Minute(start: now) }
        names[name]?.failures += 1
    }

    /// Takes back the failure as which the try was counted, and forgets those of the address.
    mutating func succeeded(_ address: [UInt8], name: String, now: ContinuousClock.Instant) {
        addresses[address] = nil
        if !isKnown(address, name: name, now: now) {
            if let known = all, known.failures > 0 { all?.failures -= 1 }
            if let known = names[name], known.failures > 0 { names[name]?.failures -= 1 }
            if logIns.count >= Self.mostOrigins, let oldest = logIns.min(by: { $0.value < $1.value }) {
                logIns[oldest.key] = nil
            }
        }
        logIns[Origin(name: name, address: address)] = now
    }

    /// Forgets those of an hour ago, or all: the bounds of names and of all together hold meanwhile.
    private mutating func prune(_ now: ContinuousClock.Instant) {
        addresses = addresses.filter { $0.value.last + .seconds(3600) > now }
        if addresses.count >= Self.mostAddresses { addresses.removeAll() }
    }
}
