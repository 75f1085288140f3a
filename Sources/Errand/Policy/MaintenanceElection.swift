/// Decides whether a worker does the maintenance tasks, or leaves them to older workers of the same database.
///
/// The oldest ``workers`` of those that do maintenance do all tasks. All others only promote due scheduled jobs now
/// and then. Which ones are alive is known from the last heartbeat, so the next ones take over within a heartbeat of
/// half a lease, before any job of a lost worker may be rescued. Due jobs can't wait for so long: a worker whose probe
/// finds a scheduled job overdue does the tasks too, for a lease.
package struct MaintenanceElection {
    /// How many do all tasks: two may be lost at once, and nothing is late.
    package static let workers = 3
    /// How many times a second all others together promote, at most.
    static let promotions = 8.0
    /// The shortest time between two promotions of one of them.
    static let interval: Duration = .seconds(5)

    private let lease: Duration
    private var older = 0
    private var younger = 0
    private var endsAt: Duration?

    package init(lease: Duration) { self.lease = lease }

    /// How many other live workers do maintenance, and have registered before or after this one.
    package mutating func counted(older: Int, younger: Int) { (self.older, self.younger) = (older, younger) }

    /// A scheduled job is overdue: the workers that should promote it don't.
    package mutating func foundOverdue(at now: Duration) { endsAt = now + lease }

    /// Whether this worker does all tasks.
    package func isElected(at now: Duration) -> Bool { older < Self.workers || endsAt.map { now < $0 } ?? false }

    /// The delay between two promotions while it isn't elected.
    package var promotionDelay: Duration {
        max(Self.interval, .seconds(1) * (Double(older + younger + 1) / Self.promotions))
    }
}
