import Testing

@testable import Errand

@Suite("When a worker looks at sleeping queues") struct DozePolicyTests {
    private let policy = DozePolicy(interval: .milliseconds(250))

    @Test("with nothing to do it raises the flag at once; the pauses between looks double, up to two intervals")
    func idle() {
        var policy = policy
        var now: Duration = .seconds(1)
        for pause in [5, 10, 20, 40, 80, 160, 320, 500, 500] {
            #expect(policy.next(at: now, isBusy: false, listens: true) == .look(arms: true))
            #expect(policy.next(at: now, isBusy: false, listens: true) == .wait(.milliseconds(pause)))
            now += .milliseconds(pause)
        }
        policy.worked(at: now)
        #expect(policy.next(at: now + .milliseconds(10), isBusy: false, listens: true) == .look(arms: true))
        #expect(policy.next(at: now + .milliseconds(11), isBusy: false, listens: true) == .wait(.milliseconds(4)))
    }

    @Test("a look is made when the rate of a queue has room, however long the pause was to be, and once")
    func expected() {
        var policy = policy
        var now: Duration = .seconds(1)
        for pause in [5, 10, 20, 40, 80, 160] {
            #expect(policy.next(at: now, isBusy: false, listens: true) == .look(arms: true))
            now += .milliseconds(pause)
        }
        now -= .milliseconds(130)
        policy.expects(workAt: now + .milliseconds(30))
        #expect(policy.next(at: now, isBusy: false, listens: true) == .wait(.milliseconds(30)))
        now += .milliseconds(30)
        #expect(policy.next(at: now, isBusy: false, listens: true) == .look(arms: true))
        #expect(policy.next(at: now, isBusy: false, listens: true) != .look(arms: true))
    }

    @Test("after work it looks every 5 ms, and raises the flag after 10 ms of calm")
    func worked() {
        var policy = policy
        _ = policy.next(at: .seconds(1), isBusy: false, listens: true)
        policy.worked(at: .seconds(2))
        #expect(policy.next(at: .seconds(2), isBusy: false, listens: true) == .look(arms: false))
        #expect(policy.next(at: .milliseconds(2001), isBusy: false, listens: true) == .wait(.milliseconds(4)))
        #expect(policy.next(at: .milliseconds(2007), isBusy: false, listens: true) == .look(arms: false))
        // The calm is over before the next look would be due.
        #expect(policy.next(at: .milliseconds(2008), isBusy: false, listens: true) == .wait(.milliseconds(2)))
        #expect(policy.next(at: .milliseconds(2010), isBusy: false, listens: true) == .look(arms: true))
    }

    @Test("a wake-up in vain is followed by 100 ms of calm; one that brought work by 10 ms")
    func vain() {
        var policy = policy
        policy.worked(at: .seconds(1))
        #expect(policy.next(at: .milliseconds(1999), isBusy: false, listens: true) == .look(arms: true))
        #expect(policy.woken(at: .seconds(2)) == .wanted)
        #expect(policy.next(at: .milliseconds(2050), isBusy: false, listens: true) == .look(arms: false))
        #expect(policy.next(at: .milliseconds(2100), isBusy: false, listens: true) == .look(arms: true))
        #expect(policy.woken(at: .seconds(3)) == .wanted)
        policy.worked(at: .milliseconds(3001))
        #expect(policy.next(at: .milliseconds(3011), isBusy: false, listens: true) == .look(arms: true))
    }

    @Test("however often it is woken without finding work, it looks and claims at most 20 times a second")
    func forged() {
        var policy = policy
        var (looks, claims) = (0, 0)
        for millisecond in 1000..<11_000 {
            let now: Duration = .milliseconds(millisecond)
            if policy.woken(at: now) == .wanted { claims += 1 }
            if case .look = policy.next(at: now, isBusy: false, listens: true) { looks += 1 }
        }
        #expect(looks <= DozePolicy.vainLooks + 200)
        #expect(claims <= 200)
        // Its next look asks to be woken at once, and each of the next jobs finds it that way.
        #expect(policy.next(at: .milliseconds(11_100), isBusy: false, listens: true) == .look(arms: true))
        #expect(policy.woken(at: .milliseconds(11_101)) == .wanted)
    }

    @Test("a wake-up that it hasn't asked for only lowers the flag, ten times a second at most")
    func unasked() {
        var policy = policy
        policy.worked(at: .seconds(1))
        let wakeUps = [1001, 1050, 1100, 1101, 1150].map { policy.woken(at: .milliseconds($0)) }
        #expect(wakeUps == [.unasked, .ignored, .ignored, .unasked, .ignored])
        // The calm goes on as if nothing had come.
        #expect(policy.next(at: .milliseconds(1150), isBusy: false, listens: true) == .look(arms: true))
    }

    @Test("while another queue is claimed from it looks every 10 ms and raises no flag")
    func busy() {
        var policy = policy
        #expect(policy.next(at: .seconds(1), isBusy: true, listens: true) == .look(arms: false))
        #expect(policy.next(at: .milliseconds(1004), isBusy: true, listens: true) == .wait(.milliseconds(6)))
        #expect(policy.next(at: .milliseconds(1010), isBusy: true, listens: true) == .look(arms: false))
        #expect(policy.next(at: .milliseconds(1011), isBusy: false, listens: true) == .look(arms: true))
    }

    @Test("without wake-ups it looks every 5 ms for 100 ms after work, then at each interval")
    func polling() {
        var policy = policy
        policy.worked(at: .seconds(1))
        #expect(policy.next(at: .seconds(1), isBusy: false, listens: false) == .look(arms: false))
        #expect(policy.next(at: .milliseconds(1090), isBusy: false, listens: false) == .look(arms: false))
        #expect(policy.next(at: .milliseconds(1100), isBusy: false, listens: false) == .wait(.milliseconds(240)))
        #expect(policy.next(at: .milliseconds(1340), isBusy: false, listens: false) == .look(arms: false))
    }
}
