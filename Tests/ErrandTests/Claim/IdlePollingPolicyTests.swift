import Testing

@testable import Errand

@Suite("When a worker probes sleeping queues") struct IdlePollingPolicyTests {
    private let policy = IdlePollingPolicy(interval: .milliseconds(250))

    /// A policy that has slept since then, with the flag raised; its last probe was at that time.
    private func armedPolicy(at now: Duration) -> IdlePollingPolicy {
        var policy = policy
        for millisecond in stride(from: 4000, through: 0, by: -10) {
            _ = policy.next(at: now - .milliseconds(millisecond), isBusy: false, listens: true)
        }
        return policy
    }

    @Test("an idle policy raises the flag immediately; the delays between probes double, up to four intervals")
    func idle() {
        var policy = policy
        var now: Duration = .seconds(1)
        for delay in [5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000] {
            #expect(policy.next(at: now, isBusy: false, listens: true) == .probe(arms: true))
            #expect(policy.next(at: now, isBusy: false, listens: true) == .wait(.milliseconds(delay)))
            now += .milliseconds(delay)
        }
        // A probe that finds a job leaves the flag raised.
        policy.worked(at: now)
        #expect(policy.next(at: now, isBusy: false, listens: true) == .probe(arms: true))
        #expect(policy.next(at: now + .milliseconds(1), isBusy: false, listens: true) == .wait(.milliseconds(999)))
    }

    @Test("a probe is made when the rate of a queue has room, however long the delay was to be, and once")
    func expected() {
        var policy = policy
        var now: Duration = .seconds(1)
        for delay in [5, 10, 20, 40, 80, 160] {
            #expect(policy.next(at: now, isBusy: false, listens: true) == .probe(arms: true))
            now += .milliseconds(delay)
        }
        now -= .milliseconds(130)
        policy.expects(workAt: now + .milliseconds(30))
        #expect(policy.next(at: now, isBusy: false, listens: true) == .wait(.milliseconds(30)))
        now += .milliseconds(30)
        #expect(policy.next(at: now, isBusy: false, listens: true) == .probe(arms: true))
        #expect(policy.next(at: now, isBusy: false, listens: true) != .probe(arms: true))
    }

    @Test("after work it probes every 5 ms, and raises the flag after 10 ms of quiet")
    func worked() {
        var policy = policy
        policy.worked(at: .seconds(2))
        #expect(policy.next(at: .seconds(2), isBusy: false, listens: true) == .probe(arms: false))
        #expect(policy.next(at: .milliseconds(2001), isBusy: false, listens: true) == .wait(.milliseconds(4)))
        #expect(policy.next(at: .milliseconds(2007), isBusy: false, listens: true) == .probe(arms: false))
        // The quiet period is over before the next probe would be due.
        #expect(policy.next(at: .milliseconds(2008), isBusy: false, listens: true) == .wait(.milliseconds(2)))
        #expect(policy.next(at: .milliseconds(2010), isBusy: false, listens: true) == .probe(arms: true))
    }

    @Test("of 200 idle workers six claim after a wake-up, and one that finds more jobs than it takes wakes others")
    func swarm() {
        var policy = armedPolicy(at: .seconds(10))
        policy.peers = 199
        let draws = stride(from: 0.0, to: 1, by: 1 / 200)
        let claims = draws.count { draw in
            var one = policy
            return one.woken(at: .seconds(10), draw: draw).claims
        }
        #expect(claims == 6)
        #expect(policy.callsOthers(at: .seconds(11)) == true)
        #expect(policy.callsOthers(at: .milliseconds(11_099)) == false)
        #expect(policy.callsOthers(at: .milliseconds(11_100)) == true)
        policy.peers = 5
        #expect(policy.callsOthers(at: .seconds(20)) == false)
        #expect(policy.woken(at: .seconds(20), draw: 0.999).claims)
    }

    @Test(
        "a worker alone probes once a second, one of 200 every 16 s, or every 4 s without LISTEN",
        arguments: [(0, true, 100...120), (199, true, 12...20), (199, false, 24...32)])
    func sharedProbes(peers: Int, listens: Bool, expected: ClosedRange<Int>) {
        var policy = policy
        policy.peers = peers
        var probes = 0
        for millisecond in stride(from: 0, to: 100_000, by: 5) {
            if case .probe = policy.next(at: .milliseconds(millisecond), isBusy: false, listens: listens) {
                probes += 1
            }
        }
        #expect(expected.contains(probes))
    }

    @Test("while wake-ups are few the flag stays up: a job is one wake-up and one claim, without a probe")
    func announced() {
        var policy = armedPolicy(at: .seconds(10))
        var probes = 0
        for job in 1...200 {
            let now: Duration = .seconds(10) + .milliseconds(50 * job)
            #expect(policy.woken(at: now) == .init(claims: true, lowers: false))
            policy.worked(at: now + .milliseconds(1))
            #expect(policy.isArmed)
            if case .probe = policy.next(at: now + .milliseconds(2), isBusy: false, listens: true) { probes += 1 }
        }
        // The safety net: a probe a second.
        #expect((9...11).contains(probes))
    }

    @Test("a rate of 100 wake-ups a second lowers the flag, and 10 ms of quiet raise it again")
    func many() {
        var policy = armedPolicy(at: .seconds(10))
        var lowered: Duration?
        for job in 1...1000 where lowered == nil {
            let now: Duration = .seconds(10) + .milliseconds(job * 2)
            let wakeUp = policy.woken(at: now)
            policy.worked(at: now + .milliseconds(1))
            if wakeUp.lowers { lowered = now }
        }
        guard let lowered else {
            Issue.record("500 wake-ups a second left the flag up")
            return
        }
        #expect(lowered < .milliseconds(10_150))
        #expect(!policy.isArmed)
        #expect(policy.next(at: lowered + .milliseconds(9), isBusy: false, listens: true) == .probe(arms: false))
        #expect(policy.next(at: lowered + .milliseconds(11), isBusy: false, listens: true) == .probe(arms: true))
        // The flag was raised too early. The next wake-up lowers it.
        #expect(policy.woken(at: lowered + .milliseconds(12)) == .init(claims: true, lowers: true))
    }

    @Test("100 spurious wake-ups a second lower the flag, as beside a busy queue, and 20 a second do not")
    func spurious() {
        for (rate, lowers) in [(100, true), (20, false)] {
            var policy = armedPolicy(at: .seconds(10))
            var lowerings = 0
            for wake in 1...(rate * 5) {
                let now: Duration = .seconds(10) + .seconds(1) / rate * wake
                if policy.woken(at: now).lowers { lowerings += 1 }
                _ = policy.next(at: now, isBusy: false, listens: true)
            }
            #expect((lowerings > 0) == lowers)
        }
        // After a spurious wake-up, the quiet period lasts 100 ms.
        var policy = armedPolicy(at: .seconds(10))
        while !policy.woken(at: .seconds(11)).lowers {}
        #expect(policy.next(at: .milliseconds(11_050), isBusy: false, listens: true) == .probe(arms: false))
        #expect(policy.next(at: .milliseconds(11_100), isBusy: false, listens: true) == .probe(arms: true))
    }

    @Test("after another worker lowers the flag, it probes again, and raises the flag after 10 ms")
    func loweredElsewhere() {
        var policy = armedPolicy(at: .seconds(10))
        policy.lowered(at: .seconds(11))
        #expect(!policy.isArmed)
        #expect(policy.next(at: .milliseconds(11_001), isBusy: false, listens: true) == .probe(arms: false))
        #expect(policy.next(at: .milliseconds(11_006), isBusy: false, listens: true) == .probe(arms: false))
        #expect(policy.next(at: .milliseconds(11_010), isBusy: false, listens: true) == .probe(arms: true))
        #expect(policy.isArmed)
    }

    @Test("however often it is woken without finding work, it probes at most 20 times a second and claims 30 times")
    func forged() {
        var policy = policy
        var (probes, claims) = (0, 0)
        for millisecond in 1000..<11_000 {
            let now: Duration = .milliseconds(millisecond)
            if policy.woken(at: now).claims { claims += 1 }
            if case .probe = policy.next(at: now, isBusy: false, listens: true) { probes += 1 }
        }
        #expect(probes <= IdlePollingPolicy.emptyProbes + 200)
        #expect(claims <= 350)
        // Its next probe requests wake-ups, and each of the next jobs wakes it.
        #expect(policy.next(at: .milliseconds(11_200), isBusy: false, listens: true) == .probe(arms: true))
        #expect(policy.woken(at: .milliseconds(11_201)).claims)
    }

    @Test("with any number of lowered flags, it probes at most 20 times a second")
    func forgedLowering() {
        var policy = policy
        var probes = 0
        for millisecond in 1000..<11_000 {
            policy.lowered(at: .milliseconds(millisecond))
            if case .probe = policy.next(at: .milliseconds(millisecond), isBusy: false, listens: true) { probes += 1 }
        }
        #expect(probes <= IdlePollingPolicy.emptyProbes + 200)
    }

    @Test("a wake-up that it hasn't asked for makes it claim nothing; many lower the flag, ten times a second at most")
    func unasked() {
        var policy = policy
        policy.worked(at: .seconds(1))
        var lowerings = 0
        for millisecond in 1001...2000 {
            let wakeUp = policy.woken(at: .milliseconds(millisecond))
            #expect(!wakeUp.claims)
            if wakeUp.lowers { lowerings += 1 }
        }
        #expect((1...10).contains(lowerings))
        // The quiet period continues as if no job had come.
        #expect(policy.next(at: .milliseconds(2100), isBusy: false, listens: true) == .probe(arms: true))
    }

    @Test("a wake-up's probe runs immediately, even if a rate is expected to have room later")
    func wokenWhileExpecting() {
        var policy = armedPolicy(at: .seconds(10))
        policy.expects(workAt: .milliseconds(10_001))
        policy.expects(workAt: .milliseconds(10_300))
        #expect(policy.next(at: .milliseconds(10_001), isBusy: false, listens: true) == .probe(arms: true))
    }

    @Test("while another queue is claimed from it probes every 10 ms and raises no flag; one that is up stays up")
    func busy() {
        var policy = policy
        #expect(policy.next(at: .seconds(1), isBusy: true, listens: true) == .probe(arms: false))
        #expect(policy.next(at: .milliseconds(1004), isBusy: true, listens: true) == .wait(.milliseconds(6)))
        #expect(policy.next(at: .milliseconds(1010), isBusy: true, listens: true) == .probe(arms: false))
        #expect(policy.next(at: .milliseconds(1011), isBusy: false, listens: true) == .probe(arms: true))
        #expect(policy.next(at: .milliseconds(1016), isBusy: true, listens: true) == .probe(arms: true))
        #expect(policy.next(at: .milliseconds(1017), isBusy: true, listens: true) == .wait(.milliseconds(9)))
    }

    @Test("without wake-ups it probes every 5 ms for 100 ms after work, then at each interval")
    func polling() {
        var policy = policy
        policy.worked(at: .seconds(1))
        #expect(policy.next(at: .seconds(1), isBusy: false, listens: false) == .probe(arms: false))
        #expect(policy.next(at: .milliseconds(1090), isBusy: false, listens: false) == .probe(arms: false))
        #expect(policy.next(at: .milliseconds(1100), isBusy: false, listens: false) == .wait(.milliseconds(240)))
        #expect(policy.next(at: .milliseconds(1340), isBusy: false, listens: false) == .probe(arms: false))
    }
}
