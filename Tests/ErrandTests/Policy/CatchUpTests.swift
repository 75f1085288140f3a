import Postgres
import Testing

@testable import Errand

@Suite("Catching up") struct CatchUpTests {
    private let noon = Timestamp(unixMicroseconds: 1_790_000_000_000_000 / 86_400_000_000 * 86_400_000_000)

    private func decide(
        _ missed: MissedTicks, every: Duration = .seconds(3600), down: Duration, late: Duration = .zero,
        bound: Int = 100
    ) -> (enqueued: [Timestamp], passedOver: [Timestamp], outcomes: [TickOutcome: Int]) {
        let catchUp = CatchUp(missed: missed, maxLateness: .seconds(60), maxCatchUp: bound)
        let now = noon + late
        let decided = catchUp.decide(.every(every), after: now - down, at: now)
        #expect(decided.map(\.tick) == decided.map(\.tick).sorted())
        let withJob = decided.filter { [.enqueued, .late].contains($0.outcome) }
        let without = decided.filter { ![.enqueued, .late].contains($0.outcome) }
        return (
            withJob.map(\.tick), without.map(\.tick), Dictionary(grouping: decided, by: \.outcome).mapValues(\.count)
        )
    }

    @Test(
        "after three days down at an hourly schedule each rule enqueues what it says",
        arguments: [
            (MissedTicks.skip, [TickOutcome.skipped: 72]), (.latest, [.late: 1, .coalesced: 71]), (.all, [.late: 72]),
        ])
    func threeDays(missed: MissedTicks, outcomes: [TickOutcome: Int]) {
        // Half an hour after a full hour: every tick was missed.
        let decided = decide(missed, down: .seconds(3 * 86400), late: .seconds(1800))
        #expect(decided.outcomes == outcomes)
        if missed != .skip { #expect(decided.enqueued.last == noon) }
    }

    @Test("a tick on time is enqueued by each rule, and replaces the missed ones if one is enough")
    func inTime() {
        for (missed, others) in [
            (MissedTicks.skip, [TickOutcome.skipped: 71]), (.latest, [.coalesced: 71]), (.all, [.late: 71]),
        ] {
            let decided = decide(missed, down: .seconds(3 * 86400), late: .seconds(30))
            #expect(decided.outcomes == others.merging([.enqueued: 1]) { $1 })
            #expect(decided.enqueued.last == noon)
        }
    }

    @Test("of all missed ticks at most the bound is enqueued, the newest")
    func bounded() {
        let decided = decide(.all, down: .seconds(3 * 86400), late: .seconds(1800), bound: 5)
        #expect(decided.enqueued == (0..<5).map { noon + .seconds(-3600 * (4 - $0)) })
        #expect(decided.outcomes == [.late: 5, .skipped: 67])
    }

    @Test("a short outage drops no tick, however fast the schedule is", arguments: MissedTicks.allCases)
    func shortOutage(missed: MissedTicks) {
        let decided = decide(missed, every: .seconds(1), down: .seconds(20))
        #expect(decided.outcomes == [.enqueued: 20])
    }

    @Test("a fast schedule that was down for a year leaves at most 1,000 ticks without a job on record")
    func boundedRecord() {
        let decided = decide(.latest, every: .seconds(1), down: .seconds(365 * 86400))
        #expect(decided.enqueued.count == 61)
        #expect(decided.passedOver.count == 1000)
        #expect(decided.passedOver.last == noon + .seconds(-61))
    }

    @Test("a pause gives no job, and leaves at most 1,000 of its ticks on record")
    func paused() {
        let day = CatchUp.passOver(.every(.seconds(3600)), after: noon - .seconds(86400), at: noon)
        #expect(day.map(\.tick) == (0..<24).map { noon + .seconds(-3600 * (23 - $0)) })
        #expect(day.allSatisfy { $0.outcome == .paused })
        #expect(CatchUp.passOver(.every(.seconds(1)), after: noon - .seconds(86400), at: noon).count == 1000)
    }

    @Test("a clock that is put back gives no tick a second time", arguments: MissedTicks.allCases)
    func clockPutBack(missed: MissedTicks) {
        let catchUp = CatchUp(missed: missed, maxLateness: .seconds(60), maxCatchUp: 100)
        #expect(catchUp.decide(.every(.seconds(1)), after: noon, at: noon - .seconds(3600)).isEmpty)
    }
}

extension Timestamp {
    static func - (left: Timestamp, right: Duration) -> Timestamp { left + (.zero - right) }
}
