import Testing

@testable import Errand

@Suite("When a queue claims") struct ClaimPlanTests {
    private let now = ContinuousClock.now

    @Test("a claim that gets less than it asked for puts the queue to sleep, unless a wake-up came since it asked")
    func sleep() {
        var plan = ClaimPlan()
        #expect(plan.isAwake)
        plan.asks()
        plan.fallAsleep()
        #expect(!plan.isAwake)
        plan.wake()
        plan.asks()
        plan.wake()
        plan.fallAsleep()
        #expect(plan.isAwake)
    }

    @Test("one claim in sixteen reads the priorities in reverse")
    func priorities() {
        var plan = ClaimPlan()
        let orders = (0..<32).map { _ in plan.nextPriorities() }
        #expect(orders.filter { $0 == [4, 3, 2, 1] }.count == 2 && orders[15] == [4, 3, 2, 1])
        #expect(orders.filter { $0 == [1, 2, 3, 4] }.count == 30)
    }

    @Test("only a claim that was refused itself is put off, until a claim gets through")
    func refused() {
        var plan = ClaimPlan()
        plan.failed(retryAt: now + .seconds(1))
        #expect(plan.delay(at: now) == nil && !plan.isRefused)
        plan.refused()
        plan.failed(retryAt: now + .seconds(1))
        #expect(plan.isRefused && plan.delay(at: now) == .seconds(1))
        #expect(plan.delay(at: now + .seconds(1)) == nil)
        plan.succeeded()
        #expect(!plan.isRefused && plan.delay(at: now) == nil)
    }

    @Test("a connection adopts the marks of the other one before it claims, and a restart forgets those of both")
    func marks() {
        var plan = ClaimPlan()
        plan.catchUp(with: [10, 20, 30, 40])
        #expect(plan.starts(of: .first) == [10, 20, 30, 40] && plan.starts(of: .second) == [10, 20, 30, 40])
        plan.observed(observation(high: 100), hasBacklog: true, on: .second, at: .zero)
        plan.observed(observation(high: 200), hasBacklog: true, on: .second, at: .zero)
        #expect(plan.hasBacklog && plan.starts(of: .second)[0] > 10)
        #expect(plan.starts(of: .first) == plan.starts(of: .second))
        plan.restart(at: nil)
        #expect(plan.starts(of: .first) == [0, 0, 0, 0] && plan.starts(of: .second) == [0, 0, 0, 0])
    }

    @Test("large claims of a backlog run one after the other, small ones at the same time")
    func serialized() {
        var plan = ClaimPlan()
        #expect(!plan.isSerialized(limit: 500))
        plan.observed(observation(high: 100), hasBacklog: true, on: .first, at: .zero)
        #expect(plan.isSerialized(limit: 500) && plan.isSerialized(limit: 100))
        #expect(!plan.isSerialized(limit: 99) && !plan.isSerialized(limit: 1))
        plan.observed(observation(high: 200), hasBacklog: false, on: .first, at: .zero)
        #expect(!plan.isSerialized(limit: 500))
    }

    @Test("positions that go back, as on a restored server, void the marks of both connections")
    func restored() {
        var plan = ClaimPlan()
        plan.catchUp(with: [1000, 1000, 1000, 1000])
        plan.observed(
            observation(high: 50, starts: [1000, 1000, 1000, 1000]), hasBacklog: false, on: .first, at: .zero)
        #expect(plan.starts(of: .first).allSatisfy { $0 <= 50 } && plan.starts(of: .second).allSatisfy { $0 <= 50 })
    }

    @Test("a claim that took too long is followed by scans ahead, then by claims of 1, 2, 4 jobs")
    func tookTooLong() {
        var plan = ClaimPlan()
        #expect(!plan.scansAhead && plan.most == .max)
        plan.tookTooLong()
        #expect(plan.scansAhead && plan.most == 1)
        // Up to 2,500,000 nothing waits for this worker. The first scan resolves no positions yet.
        var moved: [Bool] = []
        while plan.scansAhead {
            let starts = plan.starts(of: .first)
            let scan = observation(high: 2_500_000, starts: starts, reached: starts.map { $0 + LowWaterMark.stride })
            moved.append(plan.scanned(scan, at: .zero))
        }
        #expect(moved == [false, true, true, true])
        #expect(plan.starts(of: .first) == [2_500_000, 2_500_000, 2_500_000, 2_500_000])
        #expect(plan.most == 1)
        plan.succeeded()
        #expect(plan.most == 2)
        for _ in 0..<80 { plan.succeeded() }
        #expect(plan.most == .max)
    }

    @Test("scans ahead stop at a waiting job, and if running transactions let no mark move")
    func scansEnd() {
        var plan = ClaimPlan()
        plan.tookTooLong()
        for _ in 0..<2 {
            let starts = plan.starts(of: .first)
            _ = plan.scanned(
                observation(high: 9_000_000, starts: starts, reached: [499, 499, 499, 499]), at: .zero)
        }
        #expect(!plan.scansAhead && plan.starts(of: .first) == [499, 499, 499, 499])

        var held = ClaimPlan()
        held.tookTooLong()
        var scans = 0
        while held.scansAhead, scans < 10 {
            var scan = observation(high: 9_000_000, reached: [1, 1, 1, 1].map { $0 * LowWaterMark.stride })
            scan.running = [1]
            let hasMoved = held.scanned(scan, at: .zero)
            #expect(!hasMoved)
            scans += 1
        }
        #expect(scans == 5)
    }

    private func observation(
        high: Int64, starts: [Int64] = [0, 0, 0, 0], reached: [Int64]? = nil
    ) -> LowWaterMark.Observation {
        .init(
            high: high, latest: UInt64(min(high, 9000)), xmax: 10_000, running: [], positions: [[], [], [], []],
            isFull: false, starts: starts, reached: reached)
    }
}
