import Postgres
import Testing

@testable import Errand

@Suite("When housekeeping is due") struct HousekeepingPlansTests {
    private let time = Timestamp(microseconds: 800_000_000_000_000)

    @Test("promotion looks at everything at first and once a minute, else from 10 s before the last promoted job")
    func promotionHint() {
        var plan = PromotePlan()
        #expect(plan.since(at: .zero) == .minusInfinity)
        _ = plan.promoted(3, lastRunAt: time, othersWait: true, took: .zero)
        #expect(plan.since(at: .seconds(1)) == time + .seconds(-10))
        #expect(plan.since(at: .seconds(59)) == time + .seconds(-10))
        #expect(plan.since(at: .seconds(60)) == .minusInfinity)
        #expect(plan.since(at: .seconds(61)) == time + .seconds(-10))
        // A straggler doesn't take the hint back.
        _ = plan.promoted(1, lastRunAt: time + .seconds(-500), othersWait: true, took: .zero)
        #expect(plan.since(at: .seconds(62)) == time + .seconds(-10))
        plan.failed()
        #expect(plan.since(at: .seconds(63)) == .minusInfinity)
    }

    @Test("while nothing was ever promoted, every look is at everything")
    func promotionWithoutHint() {
        var plan = PromotePlan()
        _ = plan.since(at: .zero)
        _ = plan.promoted(0, lastRunAt: nil, othersWait: true, took: .zero)
        #expect(plan.since(at: .seconds(1)) == .minusInfinity)
    }

    @Test("promotion goes on at once after a full batch, else after 200 ms or 49 times its own duration")
    func promotionPause() {
        var plan = PromotePlan()
        #expect(plan.promoted(1000, lastRunAt: time, othersWait: true, took: .seconds(1)) == .zero)
        #expect(plan.promoted(999, lastRunAt: time, othersWait: true, took: .milliseconds(1)) == .milliseconds(200))
        #expect(plan.promoted(0, lastRunAt: nil, othersWait: true, took: .milliseconds(100)) == .milliseconds(4900))
        #expect(plan.promoted(0, lastRunAt: nil, othersWait: false, took: .milliseconds(1)) == .seconds(1))
    }

    @Test("rescue scans at first, every five minutes, and for a minute after a worker was lost")
    func rescueScans() {
        var plan = RescuePlan()
        #expect(plan.scans(at: .zero) == true)
        #expect(plan.rescued(lostWorkers: 0, took: .milliseconds(1), at: .zero) == .seconds(5))
        #expect(plan.scans(at: .seconds(5)) == false)
        #expect(plan.scans(at: .seconds(299)) == false)
        #expect(plan.scans(at: .seconds(300)) == true)
        _ = plan.rescued(lostWorkers: 1, took: .zero, at: .seconds(400))
        #expect(plan.scans(at: .seconds(405)) == true)
        #expect(plan.scans(at: .seconds(455)) == true)
        #expect(plan.scans(at: .seconds(460)) == false)
        plan.failed()
        #expect(plan.scans(at: .seconds(465)) == true)
    }

    @Test("a slow rescue takes 2 % of the time")
    func rescuePause() {
        var plan = RescuePlan()
        #expect(plan.rescued(lostWorkers: 0, took: .seconds(1), at: .zero) == .seconds(49))
    }

    @Test("maintenance comes hourly, and takes 2 % of the time while there is more to prune")
    func maintenance() {
        #expect(MaintainPlan.maintained(removed: 9_999, took: .seconds(1)) == .seconds(3600))
        #expect(MaintainPlan.maintained(removed: 10_000, took: .milliseconds(10)) == .seconds(1))
        #expect(MaintainPlan.maintained(removed: 10_000, took: .seconds(10)) == .seconds(490))
    }

    @Test("an outage logs a line every ten seconds")
    func pace() {
        var pace = LogPace()
        let start = ContinuousClock.now
        let lines = (0..<300).count { pace.allowsLine(at: start + .milliseconds(100 * $0)) }
        #expect(lines == 3)
    }
}
