import Postgres
import Testing

@testable import Errand

@Suite("When maintenance is due") struct MaintenancePlansTests {
    private let time = Timestamp(microseconds: 800_000_000_000_000)

    @Test("promotion reads everything at first and every second, else from 10 s before the last promoted job")
    func promotionHint() {
        var plan = PromotePlan()
        #expect(plan.since(at: .zero) == .minusInfinity)
        _ = plan.promoted(3, lastRunAt: time, othersWait: true, took: .zero, at: .zero)
        #expect(plan.since(at: .milliseconds(200)) == time + .seconds(-10))
        // A late reply doesn't undo the hint.
        _ = plan.promoted(
            1, lastRunAt: time + .seconds(-500), othersWait: true, took: .zero, at: .milliseconds(300))
        #expect(plan.since(at: .milliseconds(999)) == time + .seconds(-10))
        #expect(plan.since(at: .seconds(1)) == .minusInfinity)
        _ = plan.promoted(0, lastRunAt: nil, othersWait: true, took: .zero, at: .seconds(1))
        #expect(plan.since(at: .milliseconds(1100)) == time + .seconds(-10))
        plan.failed()
        #expect(plan.since(at: .milliseconds(1200)) == .minusInfinity)
    }

    @Test("promotion reads everything for 2 % of the time, and at least once a minute")
    func promotionShare() {
        var plan = PromotePlan()
        for (took, due) in [(Duration.milliseconds(100), Duration.milliseconds(4900)), (.seconds(5), .seconds(60))] {
            plan.failed()
            _ = plan.since(at: .zero)
            _ = plan.promoted(1, lastRunAt: time, othersWait: true, took: took, at: .zero)
            #expect(plan.since(at: due - .milliseconds(1)) == time + .seconds(-10))
            #expect(plan.since(at: due) == .minusInfinity)
        }
    }

    @Test("while nothing was ever promoted, every call reads everything")
    func promotionWithoutHint() {
        var plan = PromotePlan()
        _ = plan.since(at: .zero)
        _ = plan.promoted(0, lastRunAt: nil, othersWait: true, took: .zero, at: .zero)
        #expect(plan.since(at: .milliseconds(200)) == .minusInfinity)
    }

    @Test("promotion continues immediately after a full batch, else after 200 ms, and within 500 ms while jobs wait")
    func promotionDelay() {
        func delay(_ count: Int, _ lastRunAt: Timestamp?, _ othersWait: Bool, _ took: Duration) -> Duration {
            var plan = PromotePlan()
            return plan.promoted(count, lastRunAt: lastRunAt, othersWait: othersWait, took: took, at: .zero)
        }
        #expect(delay(1000, time, true, .seconds(1)) == .zero)
        #expect(delay(999, time, true, .milliseconds(1)) == .milliseconds(200))
        #expect(delay(0, nil, true, .milliseconds(5)) == .milliseconds(245))
        #expect(delay(0, nil, true, .milliseconds(100)) == .milliseconds(500))
        #expect(delay(0, nil, false, .milliseconds(1)) == .seconds(1))
    }

    @Test("parked jobs are checked every 200 ms, or for a tenth of the time, and at least every 2 s")
    func releaseDelay() {
        #expect(ReleasePlan.released(othersWait: true, took: .milliseconds(10)) == .after(.milliseconds(200)))
        #expect(ReleasePlan.released(othersWait: true, took: .milliseconds(50)) == .after(.milliseconds(450)))
        #expect(ReleasePlan.released(othersWait: true, took: .seconds(3)) == .after(.seconds(2)))
        #expect(ReleasePlan.released(othersWait: false, took: .milliseconds(1)) == .untilFound)
    }

    @Test("jobs that were in two crashes are looked for every 20 ms while there are any, and else not at all")
    func crashReleaseDelay() {
        #expect(CrashReleasePlan.released(othersWait: true) == .after(.milliseconds(20)))
        #expect(CrashReleasePlan.released(othersWait: false) == .untilFound)
    }

    @Test("rescue reads all jobs at first and once an hour, a part with each call; a call that failed is made again")
    func rescueReads() {
        var plan = RescuePlan()
        #expect(plan.page(at: .zero) == 0)
        #expect(plan.page(at: .seconds(1)) == 0)
        #expect(plan.rescued(nextPage: 10_000, checkIn: nil, took: .milliseconds(1)) == .seconds(5))
        #expect(plan.page(at: .seconds(5)) == 10_000)
        _ = plan.rescued(nextPage: nil, checkIn: nil, took: .zero)
        #expect(plan.page(at: .seconds(10)) == nil)
        #expect(plan.page(at: .seconds(3599)) == nil)
        #expect(plan.page(at: .seconds(3601)) == 0)
    }

    @Test("a slow rescue takes 2 % of the time, and is repeated in time to find a silent worker lost")
    func rescueDelay() {
        var plan = RescuePlan()
        #expect(plan.rescued(nextPage: nil, checkIn: nil, took: .seconds(1)) == .seconds(49))
        #expect(plan.rescued(nextPage: nil, checkIn: .seconds(7), took: .seconds(1)) == .seconds(7))
        #expect(plan.rescued(nextPage: nil, checkIn: .seconds(7), took: .zero) == .seconds(5))
        #expect(plan.rescued(nextPage: nil, checkIn: .seconds(-1), took: .zero) == .milliseconds(100))
    }

    @Test("maintenance comes hourly, and takes 2 % of the time while there is more to prune")
    func maintenance() {
        #expect(MaintainPlan.pruned(9_999, took: .seconds(1)) == .seconds(3600))
        #expect(MaintainPlan.pruned(10_000, took: .milliseconds(10)) == .seconds(1))
        #expect(MaintainPlan.pruned(10_000, took: .seconds(10)) == .seconds(490))
    }

    @Test("an outage logs a line every ten seconds")
    func throttle() {
        var throttle = LogThrottle()
        let start = ContinuousClock.now
        let lines = (0..<300).count { throttle.allowsLine(at: start + .milliseconds(100 * $0)) }
        #expect(lines == 3)
    }
}
