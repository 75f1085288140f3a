/// When a worker looks at its sleeping queues, and when it asks enqueuers to wake it.
///
/// A queue sleeps as soon as a claim got less than it asked for; one look serves all that sleep. While work comes, nothing
/// has to be announced: the looks are a few milliseconds apart, and enqueuers send no NOTIFY, which would cost them three
/// quarters of their rate. After a short calm the wake-up flag is raised. A wake-up that brought nothing, because it was for
/// another queue or others were faster, is followed by a longer calm: so a worker that is woken in vain is so ten times a
/// second at most.
///
/// Any role may send a NOTIFY, as often as it likes. A wake-up that nobody here has asked for changes nothing but the flag,
/// and looks that find nothing are ``vainPause`` apart once there have been ``vainLooks`` of them.
///
/// Whoever had enqueued before the flag was raised, and commits after the look that came with it, announces nothing. So that
/// look is followed by others, each after twice the pause of the one before: such a job is found at the latest when it has
/// waited as long as its commit was away from the flag.
package struct DozePolicy {
    package enum Next: Equatable {
        /// Look now; with `arms`, and raise the flag before.
        case look(arms: Bool)
        case wait(Duration)
    }

    /// How long nothing must have come before the flag is raised.
    package static let calm: Duration = .milliseconds(10)
    /// The same after a wake-up in vain, and where there are none.
    package static let longCalm: Duration = .milliseconds(100)
    /// The pause between two looks until then.
    package static let shortPause: Duration = .milliseconds(5)
    /// The pause while another queue is claimed from: what comes there isn't announced, and may be for this one.
    package static let busyPause: Duration = .milliseconds(10)

    /// How many looks in a row may find nothing, as long as wake-ups arrive, before they are ``vainPause`` apart.
    package static let vainLooks = 40
    /// The pause between looks from then on. For each such pause without a look, one more may come soon.
    package static let vainPause: Duration = .milliseconds(50)
    /// How soon the flag is lowered once more.
    package static let lowerPause: Duration = .milliseconds(100)

    package enum WakeUp: Equatable {
        /// Claim now, and lower the flag.
        case wanted
        /// Lower the flag: whoever raised it may be gone.
        case unasked
        case ignored
    }

    /// How often it looks where there are no wake-ups; half as often where there are.
    private let interval: Duration
    private var lastWork: Duration?
    private var lastWake: Duration?
    private var lastLook: Duration?
    private var isArmed = false
    /// When a rate has room for jobs that wait.
    private var expectedWork: Duration?
    /// The next pause while the flag is up.
    private var armedPause = shortPause
    /// Looks that may still come soon, as of `lastLook`.
    private var soonLooks = Double(vainLooks)
    private var lastLowering: Duration?

    package init(interval: Duration) { self.interval = interval }

    /// A claim brought jobs.
    package mutating func worked(at now: Duration) {
        lastWork = now
        isArmed = false
        soonLooks = Double(Self.vainLooks)
    }

    /// A wake-up came. While the flag isn't up, looks are close together and need none.
    package mutating func woken(at now: Duration) -> WakeUp {
        guard isArmed || lastLowering.map({ $0 + Self.lowerPause <= now }) ?? true else { return .ignored }
        lastLowering = now
        guard isArmed else { return .unasked }
        lastWake = now
        isArmed = false
        return .wanted
    }

    /// Jobs wait for the rate of their queue, which has room then: that look is not put off.
    package mutating func expects(workAt time: Duration) { expectedWork = time }

    /// What to do now, while at least one queue sleeps.
    ///
    /// - Parameters:
    ///   - isBusy: whether another queue is claimed from right now.
    ///   - listens: whether wake-ups arrive.
    package mutating func next(at now: Duration, isBusy: Bool, listens: Bool) -> Next {
        let calmAt = calmAt(listens: listens)
        let isCalm = !isBusy && calmAt <= now
        let arms = isCalm && listens
        let longest = interval * (listens ? 2 : 1)
        let pause =
            if isBusy {
                Self.busyPause
            } else if arms {
                min(armedPause, longest)
            } else if isCalm {
                longest
            } else { min(Self.shortPause, interval) }
        let soonLooks = soonLooks(at: now)
        let isSoon = !listens || soonLooks >= 1
        let spaced = isSoon ? pause : max(pause, min(Self.vainPause, longest))
        let planned = arms && !isArmed && isSoon ? now : lastLook.map { $0 + spaced } ?? now
        let due = min(planned, expectedWork ?? planned)
        guard due <= now else { return .wait(isCalm || isBusy || !isSoon ? due - now : min(due, calmAt) - now) }
        lastLook = now
        expectedWork = nil
        self.soonLooks = max(0, soonLooks - 1)
        armedPause = arms && isArmed ? min(armedPause * 2, longest) : Self.shortPause
        isArmed = arms
        return .look(arms: arms)
    }

    private func soonLooks(at now: Duration) -> Double {
        guard let lastLook else { return soonLooks }
        return min(Double(Self.vainLooks), soonLooks + (now - lastLook) / Self.vainPause)
    }

    private func calmAt(listens: Bool) -> Duration {
        let isInVain = lastWake.map { $0 > (lastWork ?? .zero) } ?? false
        let calm = listens && !isInVain ? Self.calm : Self.longCalm
        guard let lastActive = [lastWork, lastWake].compactMap(\.self).max() else { return .zero }
        return lastActive + calm
    }
}
