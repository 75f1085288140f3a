import Hummingbird
import Outbound
import Synchronization
import Waiting
import Web

/// Knows who sent a request, and logs people in.
final class Access: Sendable {
    let rules: AccessRules
    private let state = Mutex(State())
    /// One at a time: each takes 32 MB and a processor for some tenths of a second.
    private let hashing = AsyncSemaphore(permits: 1)
    /// For people where they have logged in before: they don't queue behind those who guess.
    private let hashingOfKnown = AsyncSemaphore(permits: 1)

    private struct State {
        var sessions = Sessions()
        var throttle = LoginThrottle()
        /// By the person whom a proxy names: the token of their forms.
        var proxied: [String: String] = [:]
    }

    /// Why somebody isn't logged in.
    enum Refusal: Error {
        case wrong
        /// Too many failures: the next try counts after so long.
        case tooSoon(Duration)
    }

    init(rules: AccessRules) { self.rules = rules }

    static let cookie = "errand_session"

    /// Who sent the request.
    ///
    /// A bearer's token counts as a try: a wrong one slows the next.
    func caller(_ request: Request, _ context: WebContext) throws(Refusal) -> Caller {
        var caller = Caller()
        caller.address = context.sender.flatMap { IPAddress($0) }
        if let proxy = rules.proxy, let sender = caller.address, proxy.includes(sender) {
            caller.isBehindProxy = true
            caller.isSecure = request.headers.last("x-forwarded-proto") == "https"
            caller.address = request.headers.last("x-forwarded-for").flatMap { IPAddress($0) } ?? sender
            if let person = request.headers.only(proxy.header).flatMap(Self.name) {
                caller.person = person
                caller.formToken = formToken(ofProxied: person)
                return caller
            }
        }
        if let token = request.headers.only("authorization").flatMap(Self.bearer) {
            caller.person = try person(withToken: token, from: caller.address)
            return caller
        }
        if let id = request.cookies[Self.cookie]?.value,
            let session = state.withLock({ $0.sessions.use(id, now: .now) })
        {
            caller.person = session.person
            caller.session = id
            caller.formToken = session.formToken
        }
        return caller
    }

    /// Begins a session for somebody with the right password, or with a token in place of it.
    ///
    /// - Returns: the session's id, and the person's name.
    func logIn(
        name: String, secret: String, from address: IPAddress?
    ) async throws(Refusal) -> (session: String, person: String) {
        // The owner of a token is not slowed by others who guess.
        if let person = rules.person(withToken: secret) {
            return (state.withLock { $0.sessions.begin(for: person, now: .now) }, person)
        }
        // A name that is set up has at most 100 characters.
        let name = String(name.prefix(101))
        try beginTry(address, name: name)
        let isKnown = state.withLock { $0.throttle.isKnown(address?.neighbourhood ?? [], name: name, now: .now) }
        guard await hasPassword(name, secret, isKnown ? hashingOfKnown : hashing) else { throw .wrong }
        return state.withLock { state in
            state.throttle.succeeded(address?.neighbourhood ?? [], name: name, now: .now)
            return (state.sessions.begin(for: name, now: .now), name)
        }
    }

    func logOut(_ session: String) { state.withLock { $0.sessions.end(session) } }

    // MARK: - Details

    /// A try counts as failed until it has succeeded, so that tries at the same time are slowed too.
    private func beginTry(_ address: IPAddress?, name: String? = nil) throws(Refusal) {
        let wait = state.withLock { state in
            let wait = state.throttle.wait(address?.neighbourhood ?? [], name: name, now: .now)
            if wait == nil { state.throttle.failed(address?.neighbourhood ?? [], name: name, now: .now) }
            return wait
        }
        if let wait { throw .tooSoon(wait) }
    }

    private func person(withToken token: String, from address: IPAddress?) throws(Refusal) -> String {
        if let person = rules.person(withToken: token) { return person }
        try beginTry(address)
        throw .wrong
    }

    /// An unknown name takes as long as a wrong password.
    private func hasPassword(_ name: String, _ password: String, _ hashing: AsyncSemaphore) async -> Bool {
        guard let hash = rules.passwords[name] ?? rules.passwords.values.first else { return false }
        let isKnown = rules.passwords[name] != nil
        let matches = try? await hashing.with(1) { hash.matches(password) }
        return matches == true && isKnown
    }

    private func formToken(ofProxied person: String) -> String {
        state.withLock { state in
            if let known = state.proxied[person] { return known }
            if state.proxied.count >= 1000 { state.proxied.removeAll() }
            let token = Digest.randomText()
            state.proxied[person] = token
            return token
        }
    }

    private static func bearer(_ header: String) -> String? {
        header.lowercased().hasPrefix("bearer ") ? String(header.dropFirst("bearer ".count)) : nil
    }

    /// A name of 1 to 200 characters without control characters.
    private static func name(_ text: String) -> String? {
        let isFit =
            (1...200).contains(text.count)
            && text.unicodeScalars.allSatisfy { ![.control, .format].contains($0.properties.generalCategory) }
        return isFit ? text : nil
    }
}
