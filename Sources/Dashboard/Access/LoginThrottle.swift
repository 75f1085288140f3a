/// Slows log-ins after failures: of an address, and of all together. Its memory is bounded.
///
/// The first 5 failures of an address cost nothing. Each further one doubles the wait before the next try, from 1 s to
/// 15 minutes. All addresses together may fail 60 times a minute, so that many addresses guess no faster. An address
/// is forgotten an hour after its last failure.
struct LoginThrottle {
    private struct Failures {
        var count = 0
        var last: ContinuousClock.Instant
        var mayTryAt: ContinuousClock.Instant
    }

    private var addresses: [[UInt8]: Failures] = [:]
    private var minute: (start: ContinuousClock.Instant, failures: Int)?
    private static let mostAddresses = 10_000
    private static let mostFailuresPerMinute = 60

    /// How long the address has to wait before its next try; nil if it may try now.
    func wait(_ address: [UInt8], now: ContinuousClock.Instant) -> Duration? {
        if let known = addresses[address], known.mayTryAt > now { return known.mayTryAt - now }
        if let minute, minute.start + .seconds(60) > now, minute.failures >= Self.mostFailuresPerMinute {
            return minute.start + .seconds(60) - now
        }
        return nil
    }

    mutating func failed(_ address: [UInt8], now: ContinuousClock.Instant) {
        if let known = minute, known.start + .seconds(60) > now {
            minute = (known.start, known.failures + 1)
        } else {
            minute = (now, 1)
        }
        var known = addresses[address] ?? Failures(last: now, mayTryAt: now)
        if known.last + .seconds(3600) < now { known.count = 0 }
        known.count += 1
        known.last = now
        if known.count > 5 { known.mayTryAt = now + .seconds(min(900, 1 << min(known.count - 6, 10))) }
        if addresses[address] == nil, addresses.count >= Self.mostAddresses { prune(now) }
        addresses[address] = known
    }

    /// Takes back the failure as which the try was counted, and forgets those of the address.
    mutating func succeeded(_ address: [UInt8], now: ContinuousClock.Instant) {
        addresses[address] = nil
        if let known = minute, known.failures > 0 { minute = (known.start, known.failures - 1) }
    }

    /// Forgets those of an hour ago, or all: the limit of all addresses together holds meanwhile.
    private mutating func prune(_ now: ContinuousClock.Instant) {
        addresses = addresses.filter { $0.value.last + .seconds(3600) > now }
        if addresses.count >= Self.mostAddresses { addresses.removeAll() }
    }
}
