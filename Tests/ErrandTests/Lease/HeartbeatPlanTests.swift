import Testing

@testable import Errand

@Suite("When a worker sends heartbeats") struct HeartbeatPlanTests {
    private let now = ContinuousClock.now

    @Test(
        "the first heartbeat is due immediately, the next after its period, and twice a second if only it finds cancellations"
    )
    func due() {
        var plan = HeartbeatPlan(every: .seconds(5), at: now)
        #expect(plan.isDue(at: now, isAsking: false))
        plan.sent(at: now)
        #expect(!plan.isDue(at: now + .milliseconds(4999), isAsking: false))
        #expect(plan.isDue(at: now + .seconds(5), isAsking: false))
        #expect(!plan.isDue(at: now + .milliseconds(499), isAsking: true))
        #expect(plan.isDue(at: now + .milliseconds(500), isAsking: true))
    }

    @Test("a request makes one due, but no more than ten a second, however many requests come")
    func requests() {
        var plan = HeartbeatPlan(every: .seconds(5), at: now)
        plan.sent(at: now)
        #expect(plan.request() == now + .milliseconds(100))
        #expect(plan.isDue(at: now, isAsking: false))
        plan.sent(at: now + .milliseconds(100))
        #expect(!plan.isDue(at: now + .milliseconds(101), isAsking: false))
        #expect(plan.request() == now + .milliseconds(200))
    }

    @Test("after failures it tries again within a second")
    func failures() {
        var plan = HeartbeatPlan(every: .seconds(5), at: now)
        for _ in 0..<20 { plan.failed(at: now) }
        #expect(!plan.mayTry(at: now + .milliseconds(499)) && plan.mayTry(at: now + .seconds(1)))
        plan.succeeded()
        plan.failed(at: now)
        #expect(plan.mayTry(at: now + .milliseconds(100)))
    }

    @Test("it checks running attempts ten times a second, and rests once nothing has run for a second")
    func rests() {
        var plan = HeartbeatPlan(every: .seconds(5), at: now)
        plan.sent(at: now)
        let waits = [.zero, .seconds(1), .milliseconds(4500), .seconds(9)].map { (time: Duration) in
            plan.wait(at: now + time, isAsking: false)
        }
        #expect(waits.map(\.isResting) == [false, true, true, true])
        #expect(waits.map(\.atMost) == [.milliseconds(100), .seconds(1), .milliseconds(500), .milliseconds(100)])
        plan.ran(at: now + .seconds(9))
        #expect(!plan.wait(at: now + .seconds(9), isAsking: false).isResting)
    }
}
