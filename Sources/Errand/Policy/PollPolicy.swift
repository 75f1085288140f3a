/// When a claim loop that finds nothing asks again: soon while work has just been there, then when it is told.
///
/// While work comes, nothing has to be announced: loops that are awake look every few milliseconds, so enqueuers send no
/// NOTIFY. A loop that has found nothing for ``awake`` sleeps: until a wake-up comes, or the worker's look at all of its
/// sleeping queues finds something.
struct PollPolicy {
    enum Next: Equatable {
        /// There is more: as soon as there is room.
        case now
        /// Again after this pause, unless a slot falls free or a wake-up comes first.
        case after(Duration)
        /// When somebody says that there is something.
        case sleep
    }

    /// How long a loop stays awake after it last had work or was woken.
    static let awake: Duration = .milliseconds(100)
    /// The pause between two looks while awake.
    static let shortPause: Duration = .milliseconds(5)

    private var lastActive: Duration?

    /// A claim was answered with `count` jobs of `limit` asked for.
    mutating func claimed(_ count: Int, of limit: Int, at now: Duration) -> Next {
        if count > 0 { lastActive = now }
        if count == limit { return .now }
        let active = lastActive ?? now
        lastActive = active
        return now - active < Self.awake ? .after(Self.shortPause) : .sleep
    }

    /// A wake-up came: somebody enqueued, here or in another queue.
    mutating func woken(at now: Duration) { lastActive = now }
}
