import Postgres
import Testing

@testable import Errand

@Suite("Catching up") struct CatchUpTests {
    private let noon = Timestamp(unixMicroseconds: 1_790_000_000_000_000 / 86_400_000_000 * 86_400_000_000)

    private func settle(
        _ missed: MissedTicks, every: Duration = .seconds(3600), down: Duration, late: Duration = .zero,
        bound: Int = 100
    ) -> (enqueued: [Timestamp], skipped: [Timestamp]) {
        let catchUp = CatchUp(missed: missed, maxLateness: .seconds(60), maxCatchUp: bound)
        let now = noon + late
        let settled = catchUp.settle(.every(every), after: now - down, at: now)
        #expect(settled.map(\.tick) == settled.map(\.tick).sorted())
        return (settled.filter(\.isEnqueued).map(\.tick), settled.filter { !$0.isEnqueued }.map(\.tick))
    }

    @Test(
        "after three days down at an hourly schedule each rule enqueues what it says",
        arguments: [(MissedTicks.skip, 0, 72), (.latest, 1, 71), (.all, 72, 0)])
    func threeDays(missed: MissedTicks, enqueued: Int, skipped: Int) {
        // Half an hour after a full hour: every tick was missed.
        let settled = settle(missed, down: .seconds(3 * 86400), late: .seconds(1800))
        #expect(settled.enqueued.count == enqueued)
        #expect(settled.skipped.count == skipped)
        if enqueued > 0 { #expect(settled.enqueued.last == noon) }
    }

    @Test("a tick that is in time is enqueued by each rule, and stands for the missed ones where one is enough")
    func inTime() {
        for (missed, enqueued) in [(MissedTicks.skip, 1), (.latest, 1), (.all, 72)] {
            let settled = settle(missed, down: .seconds(3 * 86400), late: .seconds(30))
            #expect(settled.enqueued.count == enqueued)
            #expect(settled.enqueued.last == noon)
            #expect(settled.skipped.count == 72 - enqueued)
        }
    }

    @Test("of all missed ticks at most the bound is enqueued, the newest")
    func bounded() {
        let settled = settle(.all, down: .seconds(3 * 86400), late: .seconds(1800), bound: 5)
        #expect(settled.enqueued == (0..<5).map { noon + .seconds(-3600 * (4 - $0)) })
        #expect(settled.skipped.count == 67)
    }

    @Test("a short outage drops no tick, however fast the schedule is", arguments: MissedTicks.allCases)
    func shortOutage(missed: MissedTicks) {
        let settled = settle(missed, every: .seconds(1), down: .seconds(20))
        #expect(settled.enqueued.count == 20)
        #expect(settled.skipped.isEmpty)
    }

    @Test("a fast schedule that was down for a year leaves at most 1,000 skipped ticks on record")
    func boundedRecord() {
        let settled = settle(.latest, every: .seconds(1), down: .seconds(365 * 86400))
        #expect(settled.enqueued.count == 61)
        #expect(settled.skipped.count == 1000)
        #expect(settled.skipped.last == noon + .seconds(-61))
    }
}

extension Timestamp {
    static func - (left: Timestamp, right: Duration) -> Timestamp { left + (.zero - right) }
}
