import Synchronization
import Waiting

/// Decides when a worker probes its sleeping queues, and when it asks for wake-ups.
///
/// A queue sleeps after a claim that returned fewer jobs than its limit. One probe covers all sleeping queues. The rate
/// of wake-ups decides between two ways to learn of new jobs:
///
/// - **Armed**: the wake-up flag is up, and each enqueue sends a NOTIFY. As a safety net, queues are probed once a
///   second. This is cheapest for few jobs: one NOTIFY per job. The flag stays up for up to ``wakeUps`` wake-ups within
///   ``span``.
/// - **Awake**: above that rate the flag is lowered, and probes are a few milliseconds apart. So a busy queue sends no
///   NOTIFY, which would cost its enqueuers three quarters of their rate. The flag is raised again after a short quiet
///   period.
///
/// A spurious wake-up, whose claim returns no job, counts ``spuriousWeight`` times. So a worker that sleeps beside a
/// busy queue soon lowers the flag.
///
/// Any role may send a NOTIFY, as often as it likes. A wake-up that this worker didn't ask for only affects the flag,
/// and empty probes are ``spacedDelay`` apart after ``emptyProbes`` of them.
///
/// Idle workers of the same queues share both. Of many, only some claim after a wake-up, drawn by chance, and each
/// probes less often, so that together they cost hardly more than ``probers`` of them. One that finds more jobs than it
/// can take wakes others.
///
/// A transaction that enqueued before the flag was raised sends no NOTIFY, and may commit after the probe that follows
/// the raising. So more probes follow, each after twice the delay of the one before.
package struct IdlePollingPolicy {
    package enum Next: Equatable {
        /// Probe now. With `arms`, raise the flag first.
        case probe(arms: Bool)
        case wait(Duration)
    }

    /// The quiet period before the flag is raised.
    package static let quietPeriod: Duration = .milliseconds(10)
    /// The same after a spurious wake-up, and without wake-ups.
    package static let longQuietPeriod: Duration = .milliseconds(100)
    /// The delay between two probes during the quiet period.
    package static let shortDelay: Duration = .milliseconds(5)
    /// The delay while another queue is busy: then no NOTIFY is sent for new jobs of any queue.
    package static let busyDelay: Duration = .milliseconds(10)

    /// How many consecutive empty probes may follow quickly, while wake-ups arrive, before probes are ``spacedDelay``
    /// apart.
    package static let emptyProbes = 40
    /// The delay between probes after that. Each such delay without a probe allows one more quick probe.
    package static let spacedDelay: Duration = .milliseconds(50)
    /// The shortest time between two lowerings of the flag.
    package static let lowerDelay: Duration = .milliseconds(100)

    /// How many wake-ups within ``span`` the flag stays up for.
    package static let wakeUps = 50.0
    package static let span: Duration = .milliseconds(500)
    /// How many wake-ups a spurious one counts as.
    package static let spuriousWeight = 4.0
    /// How many of the idle workers claim after a wake-up, on average.
    package static let claimers = 6.0
    /// How many workers probe as often as one would alone.
    package static let probers = 8.0
    /// How much less often a worker probes at most while the flag is up.
    package static let longestShare = 16.0
    /// The shortest time between two calls for others.
    package static let callDelay: Duration = .milliseconds(100)
    /// How long after a wake-up its claim may return jobs.
    package static let claimTime: Duration = .milliseconds(20)

    /// The reaction to a wake-up.
    package struct WakeUp: Equatable {
        /// Claim now: something may be due.
        package let claims: Bool
        /// Lower the flag: there are too many wake-ups, or the worker that raised it is gone.
        package let lowers: Bool
    }

    /// How many other idle workers have the same queues and kinds.
    package var peers = 0
    /// The probe interval without wake-ups; four times as long with them.
    private let interval: Duration
    private var lastWork: Duration?
    private var lastWake: Duration?
    private var lastProbe: Duration?
    /// The flag is up: each enqueue sends a NOTIFY.
    package private(set) var isArmed = false
    /// When a probe is due at the latest: a rate has room for waiting jobs, or a wake-up came.
    private var expectedWork: Duration?
    /// The next delay while the flag is up.
    private var armedDelay = shortDelay
    /// Quick probes that are left, as of `lastProbe`.
    private var soonProbes = Double(emptyProbes)
    /// When the flag was lowered, here or by another worker.
    private var lastLowering: Duration?
    /// Recent wake-ups, as of `lastNotice`. Each counts less and less within ``span``.
    private var recentWakes = 0.0
    private var lastNotice: Duration?
    private var lastCall: Duration?
    /// The first wake-up since a claim returned jobs.
    private var firstUnservedWake: Duration?

    package init(interval: Duration) { self.interval = interval }

    /// A claim returned jobs.
    package mutating func worked(at now: Duration) {
        lastWork = now
        firstUnservedWake = nil
        soonProbes = Double(Self.emptyProbes)
    }

    /// A wake-up came. While the flag is down, probes are frequent and wake-ups aren't needed.
    ///
    /// - Parameter draw: a random number of 0..<1, which decides whether this worker or others claim.
    package mutating func woken(at now: Duration, draw: Double = 0) -> WakeUp {
        let claims = isArmed && draw * Double(peers + 1) < Self.claimers
        let isSpurious = claims && (firstUnservedWake.map { $0 + Self.claimTime <= now } ?? false)
        recentWakes = recentWakes(at: now) + (isSpurious ? Self.spuriousWeight : 1)
        lastNotice = now
        if claims {
            lastWake = now
            firstUnservedWake = firstUnservedWake ?? now
        }
        let mayLower = isArmed || lastLowering.map { $0 + Self.lowerDelay <= now } ?? true
        let lowers = mayLower && recentWakes > Self.wakeUps
        if lowers { lowered(at: now) }
        return WakeUp(claims: claims, lowers: lowers)
    }

    /// A claim returned as many jobs as it asked for. Returns whether to send a wake-up: one of many jobs reached only
    /// some workers.
    package mutating func callsOthers(at now: Duration) -> Bool {
        guard isArmed, Double(peers + 1) > Self.claimers, lastCall.map({ $0 + Self.callDelay <= now }) ?? true else {
            return false
        }
        lastCall = now
        return true
    }

    /// The flag is lowered, here or by another worker: enqueues send no NOTIFY from now on.
    package mutating func lowered(at now: Duration) {
        isArmed = false
        lastLowering = now
    }

    /// Schedules a probe that isn't put off: a rate has room then for waiting jobs, or a wake-up came.
    package mutating func expects(workAt time: Duration) { expectedWork = min(expectedWork ?? time, time) }

    /// What to do now, while at least one queue sleeps.
    ///
    /// - Parameters:
    ///   - isBusy: whether another queue is busy.
    ///   - listens: whether wake-ups arrive.
    package mutating func next(at now: Duration, isBusy: Bool, listens: Bool) -> Next {
        let quietAt = quietAt(listens: listens)
        let isQuiet = !isBusy && quietAt <= now
        // Once up, the flag stays up until there are too many wake-ups.
        let arms = listens && (isArmed || isQuiet)
        let share = max(1, Double(peers + 1) / Self.probers)
        let longest = interval * (listens ? 4 : 1) * min(share, Self.longestShare)
        let delay =
            if arms {
                min(armedDelay, longest)
            } else if isBusy {
                min(Self.busyDelay * share, longest)
            } else if isQuiet {
                longest
            } else { min(Self.shortDelay * share, longest) }
        let soonProbes = soonProbes(at: now)
        let isSoon = !listens || soonProbes >= 1
        let spaced = isSoon ? delay : max(delay, min(Self.spacedDelay * share, longest))
        let planned = arms && !isArmed && isSoon ? now : lastProbe.map { $0 + spaced } ?? now
        let due = min(planned, expectedWork ?? planned)
        let isWaitingForQuiet = !arms && !isQuiet && !isBusy && isSoon
        guard due <= now else { return .wait((isWaitingForQuiet ? min(due, quietAt) : due) - now) }
        lastProbe = now
        expectedWork = nil
        self.soonProbes = max(0, soonProbes - 1)
        armedDelay = arms && isArmed ? min(armedDelay * 2, longest) : Self.shortDelay
        isArmed = arms
        return .probe(arms: arms)
    }

    private func soonProbes(at now: Duration) -> Double {
        guard let lastProbe else { return soonProbes }
        return min(Double(Self.emptyProbes), soonProbes + (now - lastProbe) / Self.spacedDelay)
    }

    private func recentWakes(at now: Duration) -> Double {
        guard let lastNotice else { return recentWakes }
        return recentWakes / (1 + (now - lastNotice) / Self.span)
    }

    private func quietAt(listens: Bool) -> Duration {
        let isSpurious = lastWake.map { $0 > (lastWork ?? .zero) } ?? false
        let quiet = listens && !isSpurious ? Self.quietPeriod : Self.longQuietPeriod
        let lastActive = [lastWork, lastWake].compactMap(\.self).max().map { $0 + quiet } ?? .zero
        return max(lastActive, lastLowering.map { $0 + Self.quietPeriod } ?? .zero)
    }
}

/// How idle a worker is, and whether wake-ups arrive: ``IdlePollingPolicy`` under a lock.
final class IdleState: Sendable {
    let policy: Mutex<IdlePollingPolicy>
    /// Raised when a queue has fallen asleep, or a probe may be due.
    let changed = Signal()
    private let listening = Atomic<Bool>(false)

    init(pollInterval: Duration) { policy = Mutex(IdlePollingPolicy(interval: pollInterval)) }

    /// Whether wake-ups arrive.
    var listens: Bool { listening.load(ordering: .relaxed) }

    func set(listens: Bool) { listening.store(listens, ordering: .relaxed) }

    /// Whether enqueues send a NOTIFY, so that no claim is needed before a wake-up.
    var isArmed: Bool { listens && policy.withLock(\.isArmed) }

    /// A job is due after this delay at the latest.
    func expects(workIn delay: Duration) { policy.withLock { $0.expects(workAt: .uptime + delay) } }
}
