/// When a claim loop that finds nothing asks again: soon while work has just been there, then by wake-up and poll.
///
/// While work comes, nothing has to be announced: loops that are awake look every few milliseconds, so enqueuers send no
/// NOTIFY. A loop that has found nothing for ``awake`` arms the wake-up flag, looks once more (a job may have come before
/// the flag), and sleeps until it is woken or ``interval`` has passed.
struct PollPolicy {
    enum Next: Equatable {
        /// There is more: as soon as there is room.
        case now
        /// Again after this pause, unless a slot falls free or a wake-up comes first.
        case after(Duration)
        /// Arm the wake-up flag and ask once more.
        case arm
    }

    /// How long a loop stays awake after it last had work or was woken.
    static let awake: Duration = .milliseconds(100)
    /// The pause between two looks while awake.
    static let shortPause: Duration = .milliseconds(5)

    /// The longest a job waits whose wake-up was lost.
    let interval: Duration
    /// Whether wake-ups can be received at all. Behind a transaction pooler they can't: then the poll is all there is.
    var listens: Bool
    private var lastActive: Duration?
    private var isArmed = false

    init(interval: Duration, listens: Bool) {
        self.interval = interval
        self.listens = listens
    }

    /// A claim was answered with `count` jobs of `limit` asked for.
    mutating func claimed(_ count: Int, of limit: Int, at now: Duration) -> Next {
        if count > 0 {
            lastActive = now
            isArmed = false
        }
        if count == limit { return .now }
        let active = lastActive ?? now
        lastActive = active
        if now - active < Self.awake { return .after(min(Self.shortPause, interval)) }
        guard listens, !isArmed else { return .after(interval) }
        isArmed = true
        return .arm
    }

    /// A wake-up came: somebody enqueued, here or in another queue.
    mutating func woken(at now: Duration) {
        lastActive = now
        isArmed = false
    }

    /// The poll interval has passed without a wake-up: the flag is armed anew, in case that another worker's end of sleep
    /// has overwritten it.
    mutating func slept() {
        isArmed = false
    }
}
