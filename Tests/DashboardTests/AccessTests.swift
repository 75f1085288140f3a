import Outbound
import Testing

@testable import Dashboard

@Suite("Who may log in") struct AccessTests {
    @Test("a password matches its own hash, as read back from the setting, and no other does")
    func password() throws {
        let hash = try PasswordHash(hashing: "a calm password", logRounds: 10)
        let read = try #require(PasswordHash("\(hash)"))
        #expect(read.matches("a calm password"))
        #expect(!read.matches("a calm passwore") && !read.matches(""))
        #expect(!"\(hash)".contains("calm"))
    }

    @Test(
        "a hash that is malformed or would take too much memory is refused",
        arguments: [
            "", "scrypt", "scrypt:15:8:3:00:00", "bcrypt:15:8:3:\(zeros(32)):\(zeros(64))",
            "scrypt:30:8:3:\(zeros(32)):\(zeros(64))", "scrypt:15:9:3:\(zeros(32)):\(zeros(64))",
            "scrypt:15:8:3:\(zeros(31))g:\(zeros(64))", "scrypt:15:8:3:\(zeros(32)):\(zeros(62))",
        ])
    func malformed(text: String) { #expect(PasswordHash(text) == nil) }

    @Test("an address may fail five times, then waits twice as long each time, up to 15 minutes")
    func slowed() {
        var throttle = LoginThrottle()
        let start = ContinuousClock.now
        for _ in 0..<5 { throttle.failed([1], now: start) }
        let free = throttle.wait([1], now: start)
        #expect(free == nil)
        var now = start
        var waits: [Duration] = []
        for _ in 0..<12 {
            throttle.failed([1], now: now)
            let wait = throttle.wait([1], now: now) ?? .zero
            waits.append(wait)
            now += max(wait, .seconds(61))
        }
        #expect(Array(waits.prefix(5)) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)])
        #expect(waits.last == .seconds(900))
        #expect(throttle.wait([2], now: now) == nil, "others are not slowed")
    }

    @Test("a name may fail 20 times a minute from many addresses, all names 120 times; a success takes its try back")
    func together() {
        var throttle = LoginThrottle()
        let start = ContinuousClock.now
        func wait(_ name: String, after seconds: Int) -> Duration? {
            throttle.wait([200], name: name, now: start + .seconds(seconds))
        }
        for address in 0..<20 { throttle.failed([UInt8(address)], name: "alice", now: start) }
        #expect(wait("alice", after: 59) == .seconds(1) && wait("alice", after: 60) == nil)
        #expect(wait("bob", after: 59) == nil)
        for address in 20..<120 { throttle.failed([UInt8(address)], name: "guess \(address)", now: start) }
        #expect(wait("bob", after: 59) == .seconds(1) && wait("bob", after: 60) == nil)
        throttle.succeeded([19], name: "alice", now: start)
        #expect(wait("alice", after: 59) == nil && wait("bob", after: 59) == nil)
    }

    @Test("where a person has logged in within 30 days, only the failures of the address count")
    func known() {
        var throttle = LoginThrottle()
        let start = ContinuousClock.now
        throttle.failed([1], name: "alice", now: start)
        throttle.succeeded([1], name: "alice", now: start)
        for day in [29, 31] {
            let now = start + .seconds(day * 86_400)
            for address in 2..<122 { throttle.failed([UInt8(address)], name: "alice", now: now) }
            #expect((throttle.wait([1], name: "alice", now: now) == nil) == (day == 29))
            #expect(throttle.wait([1], name: "bob", now: now) != nil)
        }
        for _ in 0..<6 { throttle.failed([1], name: "alice", now: start) }
        #expect(throttle.wait([1], name: "alice", now: start) == .seconds(1))
    }

    @Test("60 wrong passwords from 12 addresses shut out no other name, no token, and nobody at a known address")
    func guessed() async throws {
        var rules = try someRules()
        rules.passwords["bob"] = rules.passwords["alice"]
        let access = Access(rules: rules)
        let (known, new) = (try #require(IPAddress("2001:db8::1")), try #require(IPAddress("2001:db8:1::1")))
        _ = try await access.logIn(name: "alice", secret: Page.password, from: known)
        for number in 0..<60 {
            await #expect(throws: Access.Refusal.self) {
                try await access.logIn(
                    name: number % 2 == 0 ? "alice" : "guess \(number)", secret: "wrong",
                    from: IPAddress("192.0.2.\(number % 12)"))
            }
        }
        await #expect(throws: Access.Refusal.self) {
            try await access.logIn(name: "alice", secret: Page.password, from: new)
        }
        for (name, secret, address) in [
            ("alice", Page.password, known), ("bob", Page.password, new), ("", Page.token, new),
        ] {
            let person = try await access.logIn(name: name, secret: secret, from: address).person
            #expect(person == (name.isEmpty ? "ci" : name))
        }
    }

    @Test("a session ends an hour after its last request, and 12 hours after its log-in")
    func sessions() {
        var sessions = Sessions()
        let start = ContinuousClock.now
        let idle = sessions.begin(for: "alice", now: start)
        let busy = sessions.begin(for: "bob", now: start)
        #expect(idle != busy && idle.count == 43)
        for minute in stride(from: 30, to: 12 * 60, by: 30) {
            let session = sessions.use(busy, now: start + .seconds(60 * minute))
            #expect(session?.person == "bob")
        }
        let (late, over) = (
            sessions.use(idle, now: start + .seconds(3600)), sessions.use(busy, now: start + .seconds(12 * 3600))
        )
        #expect(late == nil && over == nil)
    }

    @Test("there are at most 1,000 sessions: a new one ends the one that has been idle for longest")
    func bounded() {
        var sessions = Sessions()
        let start = ContinuousClock.now
        let first = sessions.begin(for: "alice", now: start)
        for second in 1...1000 { _ = sessions.begin(for: "bob", now: start + .seconds(second)) }
        let ended = sessions.use(first, now: start + .seconds(1001))
        #expect(ended == nil)
    }

    @Test("rules show no token and no hash, however they are printed")
    func quiet() throws {
        var rules = AccessRules()
        rules.tokens = ["ci": "a-secret-of-more-than-20"]
        rules.passwords = ["alice": try PasswordHash(hashing: "a calm password", logRounds: 10)]
        var dumped = ""
        dump(rules, to: &dumped)
        for text in ["\(rules)", String(reflecting: rules), "\([rules])", dumped] {
            #expect(!text.contains("a-secret") && !text.contains("scrypt"))
        }
    }

    @Test("without a log-in, the page is served on loopback addresses only")
    func loopback() {
        var rules = AccessRules()
        for host in ["127.0.0.1", "127.8.8.8", "::1", "localhost"] {
            #expect(Dashboard.mayListen(at: host, access: rules))
        }
        for host in ["0.0.0.0", "::", "10.0.0.1", "example.com"] {
            #expect(!Dashboard.mayListen(at: host, access: rules))
        }
        rules.tokens = ["ci": "a-secret-of-more-than-20"]
        #expect(Dashboard.mayListen(at: "0.0.0.0", access: rules))
    }
}

private func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
