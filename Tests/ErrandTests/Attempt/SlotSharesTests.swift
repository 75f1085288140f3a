import ErrandTestKit
import Testing

@testable import Errand

@Suite("The slots of a queue over several databases") struct SlotSharesTests {
    /// Workers that run attempts as their grants allow. Each updates its share whenever it is told to.
    private struct Model {
        var shares: SlotShares
        var running: [Int]
        var waiting: [Int]
        var limits: [Int]
        var time = Duration.zero

        init(slots: Int, workers: Int) {
            shares = SlotShares(slots: slots)
            running = [Int](repeating: 0, count: workers)
            waiting = running
            limits = running
            for _ in 0..<workers { _ = shares.join() }
        }

        /// A worker with waiting jobs doesn't know how many there are.
        mutating func update(_ worker: Int) {
            var pending = [worker]
            var steps = 0
            while let next = pending.popLast(), steps < 100 {
                steps += 1
                let new = shares.update(
                    next, running: running[next], demand: waiting[next] > 0 ? .max : running[next], at: time)
                #expect(new.grant >= running[next], "running attempts keep their slots")
                limits[next] = new.limit
                pending += new.others
            }
            #expect(steps < 100, "workers tell each other for ever")
            #expect(shares.members.reduce(0) { $0 + $1.grant } <= shares.slots, "\(shares)")
        }

        /// Begins as many as it may.
        mutating func begin(_ worker: Int) {
            let count = max(0, min(waiting[worker], limits[worker] - running[worker]))
            waiting[worker] -= count
            running[worker] += count
        }

        mutating func updateAll() {
            for worker in running.indices { update(worker) }
            for worker in running.indices { begin(worker) }
        }
    }

    @Test("attempts never exceed the slots, and none is idle beside a waiting job", arguments: 0..<40)
    func model(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var model = Model(slots: .random(in: 1...12, using: &random), workers: .random(in: 1...5, using: &random))
        for _ in 0..<400 {
            model.time += .milliseconds(Int.random(in: 0...30, using: &random))
            let worker = Int.random(in: model.running.indices, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: model.waiting[worker] += .random(in: 1...20, using: &random)
            case 1: model.running[worker] = .random(in: 0...model.running[worker], using: &random)
            case 2: model.begin(worker)
            default: break
            }
            model.update(worker)
            #expect(model.running.reduce(0, +) <= model.shares.slots)
        }
        // A worker with jobs updates its share at least four times a second, and so do those that it wakes.
        model.updateAll()
        model.updateAll()
        let busy = model.running.reduce(0, +)
        #expect(busy == model.shares.slots || model.waiting.allSatisfy { $0 == 0 }, "\(model)")
    }

    @Test(
        "workers that need more than there is get the same number each", arguments: [1, 2, 3, 4, 7])
    func share(workers: Int) {
        let slots = 10
        var model = Model(slots: slots, workers: workers)
        model.waiting = [Int](repeating: 1_000, count: workers)
        model.update(0)
        model.begin(0)
        #expect(model.running[0] == slots, "alone it has them all")
        for _ in 0..<slots {
            model.running[0] -= 1
            model.updateAll()
        }
        for worker in 0..<workers { #expect(model.running[worker] >= slots / workers, "\(model)") }
        #expect(model.running.reduce(0, +) == slots)
    }

    @Test("one that needs less than its share leaves the rest to the others, and gets its share once it needs it")
    func rest() {
        var model = Model(slots: 9, workers: 3)
        model.waiting = [1_000, 1, 0]
        model.updateAll()
        model.updateAll()
        #expect(model.running == [8, 1, 0], "\(model)")
        model.waiting[2] = 1_000
        for _ in 0..<9 {
            model.running[0] -= model.running[0] > 0 ? 1 : 0
            model.updateAll()
        }
        #expect(model.running == [4, 1, 4], "\(model)")
    }

    @Test("one slot rotates: no database waits longer than a rotation of each other one", arguments: [2, 3, 5])
    func rotates(workers: Int) {
        var model = Model(slots: 1, workers: workers)
        model.waiting = [Int](repeating: 1_000_000, count: workers)
        var last = [Duration](repeating: .zero, count: workers)
        for _ in 0..<2_000 {
            model.time += .milliseconds(2)
            // All attempts take 2 ms.
            for worker in 0..<workers {
                model.running[worker] = 0
                model.update(worker)
            }
            for worker in 0..<workers { model.begin(worker) }
            for worker in 0..<workers where model.running[worker] > 0 { last[worker] = model.time }
            #expect(last.allSatisfy { model.time - $0 <= SlotShares.rotation * workers + .milliseconds(10) })
        }
    }

    @Test("so it does if each attempt begins as soon as another has ended", arguments: [2, 3, 5])
    func rotatesWithoutGap(workers: Int) {
        var model = Model(slots: 1, workers: workers)
        model.waiting = [Int](repeating: 1_000_000, count: workers)
        var last = [Duration](repeating: .zero, count: workers)
        for _ in 0..<2_000 {
            model.time += .milliseconds(2)
            for worker in 0..<workers {
                model.running[worker] = 0
                model.begin(worker)
                model.update(worker)
                model.begin(worker)
                if model.running[worker] > 0 { last[worker] = model.time }
            }
            #expect(last.allSatisfy { model.time - $0 <= SlotShares.rotation * workers + .milliseconds(10) })
        }
    }

    @Test("without a need elsewhere a worker keeps its slots, so that its next job begins at once")
    func stays() {
        var shares = SlotShares(slots: 4)
        let (first, second) = (shares.join(), shares.join())
        #expect(shares.update(first, running: 0, demand: .max, at: .zero).grant == 4)
        #expect(shares.update(first, running: 0, demand: 0, at: .zero).grant == 4)
        let asking = shares.update(second, running: 0, demand: .max, at: .zero)
        #expect(asking == .init(grant: 0, limit: 0, others: [first]), "it has none, and the first is told")
        #expect(shares.update(first, running: 1, demand: 1, at: .zero) == .init(grant: 1, limit: 1, others: [second]))
        #expect(shares.update(second, running: 0, demand: .max, at: .zero).grant == 3)
        #expect(shares.leave(first) == [second])
        #expect(shares.update(second, running: 3, demand: .max, at: .zero).grant == 4)
    }
}
