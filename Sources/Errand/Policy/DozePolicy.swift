/// When a worker looks at its sleeping queues, and when it asks enqueuers to wake it.
///
/// A queue sleeps as soon as a claim got less than it asked for; one look serves all that sleep. While work comes, nothing
/// has to be announced: the looks are a few milliseconds apart, and enqueuers send no NOTIFY, which would cost them three
/// quarters of their rate. After a short calm the wake-up flag is raised. A wake-up that brought nothing, because it was for
/// another queue or others were faster, is followed by a longer calm: so a worker that is woken in vain is so ten times a
/// second at most.
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

    /// How often it looks where there are no wake-ups; half as often where there are.
    private let interval: Duration
    private var lastWork: Duration?
    private var lastWake: Duration?
    private var lastLook: Duration?
    private var isArmed = false
    /// The next pause while the flag is up.
    private var armedPause = shortPause

    package init(interval: Duration) { self.interval = interval }

    /// A claim brought jobs.
    package mutating func worked(at now: Duration) {
        lastWork = now
        isArmed = false
    }

    /// A wake-up came: the flag is down.
    package mutating func woken(at now: Duration) {
        lastWake = now
        isArmed = false
    }

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
        let due = arms && !isArmed ? now : lastLook.map { $0 + pause } ?? now
        guard due <= now else { return .wait(isCalm || isBusy ? due - now : min(due, calmAt) - now) }
        lastLook = now
        armedPause = arms && isArmed ? min(armedPause * 2, longest) : Self.shortPause
        isArmed = arms
        return .look(arms: arms)
    }

    private func calmAt(listens: Bool) -> Duration {
        let isInVain = lastWake.map { $0 > (lastWork ?? .zero) } ?? false
        let calm = listens && !isInVain ? Self.calm : Self.longCalm
        guard let lastActive = [lastWork, lastWake].compactMap(\.self).max() else { return .zero }
        return lastActive + calm
    }
}
