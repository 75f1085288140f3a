import Foundation

/// The provider token in use: one for all pushes of a process, renewed every 45 to 50 minutes.
///
/// Apple refuses tokens older than an hour, and more than one in 20 minutes. A pure decision: the time is passed in.
struct ProviderTokens {
    /// Apple accepts at most one new token per connection in this time.
    static let leastInterval: TimeInterval = 20 * 60
    /// Apple accepts no older token.
    static let longestLife: TimeInterval = 60 * 60

    private struct Token {
        let text: String
        let issuedAt: Date
    }

    private let key: APNsKey
    /// When a token is renewed. It is random, so that processes don't renew at the same time.
    private let life: TimeInterval
    private var current: Token?
    private var previous: Token?
    private var noneBefore = Date.distantPast
    /// How many tokens were made.
    private(set) var minted = 0

    init(key: APNsKey, life: TimeInterval = .random(in: 45 * 60...50 * 60)) {
        self.key = key
        self.life = life
    }

    /// The token to send with.
    mutating func token(at now: Date) throws(PushError) -> String {
        if let current, now.timeIntervalSince(current.issuedAt) < life || now < noneBefore { return current.text }
        return try mint(at: now)
    }

    /// Apple has refused a token as too old. Returns whether there is a newer one. Within 20 minutes there is none:
    /// then the clock is wrong.
    mutating func expired(_ text: String, at now: Date) throws(PushError) -> Bool {
        guard let current, current.text == text else { return true }
        guard abs(now.timeIntervalSince(current.issuedAt)) >= Self.leastInterval else { return false }
        _ = try mint(at: now)
        return true
    }

    /// Apple got too many tokens: none is made for 20 minutes. Returns whether there is an older one that is still
    /// valid.
    mutating func tooMany(_ text: String, at now: Date) -> Bool {
        guard let current, current.text == text else { return true }
        noneBefore = max(noneBefore, now + Self.leastInterval)
        guard let previous, now.timeIntervalSince(previous.issuedAt) < Self.longestLife - 60 else { return false }
        self.current = previous
        self.previous = nil
        return true
    }

    private mutating func mint(at now: Date) throws(PushError) -> String {
        let text = try key.token(issuedAt: Int64(now.timeIntervalSince1970))
        previous = current
        current = Token(text: text, issuedAt: now)
        minted += 1
        return text
    }
}
