/// The sessions of those who have logged in: in memory, so a restart ends them.
///
/// A session ends 12 hours after its log-in, or an hour after its last request. There are at most 1,000: a new one ends
/// the one that has been idle for longest.
struct Sessions {
    struct Session: Sendable {
        let person: String
        /// What each form of this session has to send.
        let formToken: String
        fileprivate let since: ContinuousClock.Instant
        fileprivate var lastUsed: ContinuousClock.Instant
    }

    private var sessions: [String: Session] = [:]
    private static let most = 1000

    /// - Returns: the new session's id, for its cookie.
    mutating func begin(for person: String, now: ContinuousClock.Instant) -> String {
        if sessions.count >= Self.most {
            sessions = sessions.filter { Self.isAlive($0.value, now) }
            if sessions.count >= Self.most, let idle = sessions.min(by: { $0.value.lastUsed < $1.value.lastUsed }) {
                sessions[idle.key] = nil
            }
        }
        let id = Digest.randomText()
        sessions[id] = Session(person: person, formToken: Digest.randomText(), since: now, lastUsed: now)
        return id
    }

    /// The session of this id, which is now used; nil if there is none or it has ended.
    mutating func use(_ id: String, now: ContinuousClock.Instant) -> Session? {
        guard var session = sessions[id] else { return nil }
        guard Self.isAlive(session, now) else {
            sessions[id] = nil
            return nil
        }
        session.lastUsed = now
        sessions[id] = session
        return session
    }

    mutating func end(_ id: String) { sessions[id] = nil }

    private static func isAlive(_ session: Session, _ now: ContinuousClock.Instant) -> Bool {
        session.since + .seconds(12 * 3600) > now && session.lastUsed + .seconds(3600) > now
    }
}
