import Postgres
import Testing

@testable import Errand

@Suite("What a scheduler knows of a schedule") struct KnownScheduleTests {
    private static let second: Int64 = 1_000_000
    private let start = ContinuousClock.now

    private func time(_ seconds: Int64) -> Timestamp {
        Timestamp(microseconds: 1_700_000_000 * Self.second + seconds * Self.second)
    }

    /// Ticks every 10 s; recorded up to `lastTick` seconds.
    private func stored(
        lastTick: Int64, nextTick: Int64? = nil, isPaused: Bool = false, cron: String? = nil
    ) -> StoredSchedule {
        StoredSchedule(
            name: "ten", version: 1, lastTick: time(lastTick), nextTick: nextTick.map(time), isPaused: isPaused,
            times: .init(cron: cron, everyMicroseconds: cron == nil ? 10 * Self.second : nil, timeZone: "UTC"),
            catchUp: CatchUp(missed: .latest, maxLateness: .seconds(60), maxCatchUp: 100), problem: nil)
    }

    @Test("it is due from its next tick on, and of each tick once")
    func due() {
        var known = KnownSchedule(stored(lastTick: 0))
        #expect(known.isDueFrom(at: time(5)) == time(10))
        #expect(known.due(at: time(25)).map(\.tick) == [time(10), time(20)])
        known.recorded(through: time(20), isAll: true, at: start)
        #expect(known.isDueFrom(at: time(25)) == time(30))
        #expect(known.due(at: time(25)).isEmpty)
    }

    @Test("a read that had begun before a tick was recorded doesn't bring the tick back; a later one is believed")
    func oldRead() {
        var known = KnownSchedule(stored(lastTick: 0))
        known.recorded(through: time(10), isAll: true, at: start + .seconds(2))
        let isBelieved = known.seen(stored(lastTick: 0), begun: start + .seconds(1))
        #expect(!isBelieved)
        #expect(known.lastTick == time(10))
        // Like after the loss of the newest transactions: missing records are written again.
        let isLaterBelieved = known.seen(stored(lastTick: 0), begun: start + .seconds(3))
        #expect(isLaterBelieved)
        #expect(known.isDueFrom(at: time(10)) == time(10))
    }

    @Test("a schedule that another session has locked waits for the next read, even if a part of it was recorded")
    func blocked() {
        for recorded in [nil, time(10)] {
            var known = KnownSchedule(stored(lastTick: 0))
            known.recorded(through: recorded, isAll: false, at: start)
            #expect(known.isDueFrom(at: time(25)) == .infinity)
            #expect(!known.isReportDue(at: time(25)))
            _ = known.seen(stored(lastTick: 10), begun: start + .seconds(1))
            #expect(known.isDueFrom(at: time(25)) == time(20))
        }
    }

    @Test("a schedule whose jobs are rejected reports the reason, and is retried after a delay")
    func refused() {
        var known = KnownSchedule(stored(lastTick: 0))
        known.refused("no such queue", until: start + .seconds(30))
        #expect(known.isDueFrom(at: time(25)) == .infinity)
        #expect(known.report(at: time(25)).problem == "no such queue")
        _ = known.seen(stored(lastTick: 0), begun: start + .seconds(29))
        #expect(known.isDueFrom(at: time(25)) == .infinity)
        _ = known.seen(stored(lastTick: 0), begun: start + .seconds(30))
        #expect(known.isDueFrom(at: time(25)) == time(10))
    }

    @Test("the ticks of a pause are recorded when they are over, are no reason to wake up, and aren't announced")
    func paused() {
        let known = KnownSchedule(stored(lastTick: 0, isPaused: true))
        #expect(known.isDueFrom(at: time(5)) == .infinity)
        #expect(known.isDueFrom(at: time(15)) == time(10))
        #expect(known.due(at: time(15)).map(\.outcome) == [.paused])
        let (next, problem) = known.report(at: time(5))
        #expect(next == nil && problem == nil)
    }

    @Test("an unchanged report isn't written again")
    func reports() {
        #expect(KnownSchedule(stored(lastTick: 0)).isReportDue(at: time(5)))
        #expect(!KnownSchedule(stored(lastTick: 0, nextTick: 10)).isReportDue(at: time(5)))
        // With the transaction that records it.
        #expect(!KnownSchedule(stored(lastTick: 0)).isReportDue(at: time(15)))
        #expect(KnownSchedule(stored(lastTick: 0)).report(at: time(15)).next == time(20))
    }

    @Test("a schedule that can't be read, or never ticks again, reports that and is never due")
    func problems() {
        for (cron, problem) in [
            ("0 25 * * *", "hour: expected * or 0 to 23, got 25"),
            ("0 0 30 2 *", "cron: expected a date that comes, got 0 0 30 2 *"),
        ] {
            let known = KnownSchedule(stored(lastTick: 0, cron: cron))
            #expect(known.report(at: time(5)).problem == problem)
            #expect(known.report(at: time(5)).next == nil)
            #expect(known.isDueFrom(at: time(5)) == .infinity)
            #expect(known.isReportDue(at: time(5)))
        }
    }
}
