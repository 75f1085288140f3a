/// When a worker probes its sleeping queues, and when it asks enqueuers to wake it.
///
/// A queue sleeps as soon as a claim got less than it asked for; one probe serves all that sleep. There are two ways to
/// learn of new jobs, and the rate of wake-ups decides between them:
///
/// - **Armed**: the wake-up flag is up, and each enqueue sends a NOTIFY. Nothing is probed but for a safety net, twice
///   a second. That is the cheapest way while little comes: one NOTIFY a job. It stays so while wake-ups come at up to
///   ``wakeUps`` within ``span``.
/// - **Awake**: beyond that rate the flag is lowered, and probes are a few milliseconds apart. A busy queue sends no
///   NOTIFY at all, which would cost its enqueuers three quarters of their rate. After a short quiet period the flag
///   goes up again.
///
/// A wake-up that brings nothing, because it was for another queue or others were faster, counts ``spuriousWeight``
/// times. So a worker that sleeps beside a busy queue lowers the flag after a few.
///
/// Any role may send a NOTIFY, as often as it likes. A wake-up that nobody here has asked for changes nothing but the
/// flag, and probes that find nothing are ``spacedDelay`` apart once there have been ``emptyProbes`` of them.
///
/// A transaction that enqueued before the flag was raised, and commits after the probe that came with it, announces
/// nothing. So that probe is followed by others, each after twice the delay of the one before: such a job is found at
/// the latest when it has waited as long as its commit was away from the flag.
package struct IdlePollingPolicy {
    package enum Next: Equatable {
        /// Probe now; with `arms`, and raise the flag before.
        case probe(arms: Bool)
        case wait(Duration)
    }

    /// How long nothing must have come before the flag is raised.
    package static let quietPeriod: Duration = .milliseconds(10)
    /// The same after a spurious wake-up, and where there are none.
    package static let longQuietPeriod: Duration = .milliseconds(100)
    /// The delay between two probes until then.
    package static let shortDelay: Duration = .milliseconds(5)
    /// The delay while another queue is claimed from: what comes there isn't announced, and may be for this one.
    package static let busyDelay: Duration = .milliseconds(10)

    /// How many probes in a row may find nothing, as long as wake-ups arrive, before they are ``spacedDelay`` apart.
    package static let emptyProbes = 40
    /// The delay between probes from then on. For each such delay without a probe, one more may come soon.
    package static let spacedDelay: Duration = .milliseconds(50)
    /// How soon the flag is lowered once more.
    package static let lowerDelay: Duration = .milliseconds(100)

    /// The delay between two probes while the flag is up and jobs come. They find nothing. But the server process of a
    /// connection that has slept for 50 ms claims 0.3 ms slower than one whose code and data are in the CPU's caches.
    package static let warmDelay: Duration = .milliseconds(20)
    /// Jobs come as long as the last two claims that brought any are no further apart, nor the last one further back.
    package static let warmSpan: Duration = .milliseconds(100)

    /// How many wake-ups within ``span`` the flag stays up for.
    package static let wakeUps = 50.0
    package static let span: Duration = .milliseconds(500)
    /// As how many wake-ups a spurious one counts.
    package static let spuriousWeight = 4.0
    /// How long after a wake-up its claim may bring jobs.
    package static let claimTime: Duration = .milliseconds(20)

    /// What to do about a wake-up.
    package struct WakeUp: Equatable {
        /// Claim now: something may be due.
        package let claims: Bool
        /// Lower the flag: wake-ups are too many, or the worker that raised it is gone.
        package let lowers: Bool
    }

    /// How often it probes where there are no wake-ups; half as often where there are.
    private let interval: Duration
    private var lastWork: Duration?
    /// The work before the last.
    private var earlierWork: Duration?
    private var lastWake: Duration?
    private var lastProbe: Duration?
    /// The flag is up: new jobs are announced.
    package private(set) var isArmed = false
    /// When a probe is due at the latest: a rate has room for jobs that wait, or a wake-up came.
    private var expectedWork: Duration?
    /// The next delay while the flag is up.
    private var armedDelay = shortDelay
    /// Probes that may still come soon, as of `lastProbe`.
    private var soonProbes = Double(emptyProbes)
    /// When the flag was lowered, here or by another worker.
    private var lastLowering: Duration?
    /// Wake-ups of late, as of `lastNotice`: each counts less and less within ``span``.
    private var recentWakes = 0.0
    private var lastNotice: Duration?
    /// The first wake-up since a claim brought jobs.
    private var unanswered: Duration?

    package init(interval: Duration) { self.interval = interval }

    /// A claim brought jobs.
    package mutating func worked(at now: Duration) {
        earlierWork = lastWork
        lastWork = now
        unanswered = nil
        soonProbes = Double(Self.emptyProbes)
    }

    /// A wake-up came. While the flag isn't up, probes are close together and need none.
    package mutating func woken(at now: Duration) -> WakeUp {
        let isSpurious = isArmed && (unanswered.map { $0 + Self.claimTime <= now } ?? false)
        recentWakes = recentWakes(at: now) + (isSpurious ? Self.spuriousWeight : 1)
        lastNotice = now
        let claims = isArmed
        if claims {
            lastWake = now
            unanswered = unanswered ?? now
        }
        let mayLower = isArmed || lastLowering.map { $0 + Self.lowerDelay <= now } ?? true
        let lowers = mayLower && recentWakes > Self.wakeUps
        if lowers { lowered(at: now) }
        return WakeUp(claims: claims, lowers: lowers)
    }

    /// The flag is lowered, here or by another worker: what is enqueued from now on is not announced.
    package mutating func lowered(at now: Duration) {
        isArmed = false
        lastLowering = now
    }

    /// Jobs wait for the rate of their queue, which has room then, or a wake-up came: that probe is not put off.
    package mutating func expects(workAt time: Duration) { expectedWork = min(expectedWork ?? time, time) }

    /// What to do now, while at least one queue sleeps.
    ///
    /// - Parameters:
    ///   - isBusy: whether another queue is claimed from right now.
    ///   - listens: whether wake-ups arrive.
    package mutating func next(at now: Duration, isBusy: Bool, listens: Bool) -> Next {
        let quietAt = quietAt(listens: listens)
        let isQuiet = !isBusy && quietAt <= now
        // Once it is up, the flag stays up until wake-ups are too many.
        let arms = listens && (isArmed || isQuiet)
        let longest = interval * (listens ? 2 : 1)
        let delay =
            if arms {
                min(armedDelay, isWarm(at: now) ? Self.warmDelay : longest)
            } else if isBusy {
                Self.busyDelay
            } else if isQuiet {
                longest
            } else { min(Self.shortDelay, interval) }
        let soonProbes = soonProbes(at: now)
        let isSoon = !listens || soonProbes >= 1
        let spaced = isSoon ? delay : max(delay, min(Self.spacedDelay, longest))
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

    private func isWarm(at now: Duration) -> Bool {
        guard let lastWork, let earlierWork else { return false }
        return max(lastWork - earlierWork, now - lastWork) <= Self.warmSpan
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
