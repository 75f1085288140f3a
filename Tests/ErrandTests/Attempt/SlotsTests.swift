import Testing

@testable import Errand

@Suite("The slots of a queue") struct SlotsTests {
    private let samples: SampleAttempts
    private let now = ContinuousClock.now

    init() throws { samples = try SampleAttempts() }

    @Test("attempts begin in their order, never more than there are slots, by no more dispatchers than cores")
    func order() {
        var slots = Slots(count: 3, cores: 2)
        #expect(slots.add(samples.attempts(1...5)) == 2)
        let begun = (0..<3).compactMap { _ in slots.next(at: now, runsAlone: false) }
        #expect(begun.map(\.job.id) == [1, 2, 3] && slots.running == 3)
        #expect(slots.next(at: now, runsAlone: false) == nil && slots.next(at: now, runsAlone: false) == nil)
        #expect(slots.addDispatchers() == 0, "no slot is free")
        slots.remove(begun[1])
        #expect(slots.addDispatchers() == 1)
        #expect(slots.next(at: now, runsAlone: false)?.job.id == 4)
    }

    @Test("an attempt that is taken out while it waits never begins, and frees no slot")
    func removed() {
        var slots = Slots(count: 1, cores: 4)
        let attempts = samples.attempts(1...3)
        #expect(slots.add(attempts) == 1)
        #expect(slots.next(at: now, runsAlone: false) === attempts[0])
        slots.remove(attempts[1])
        #expect(slots.running == 1)
        slots.remove(attempts[0])
        #expect(slots.next(at: now, runsAlone: false) === attempts[2])
    }

    @Test("as many jobs are claimed as slots are free; more once attempts are known to be quick, and none for a rate")
    func room() {
        var slots = Slots(count: 10, cores: 2)
        #expect(slots.room(batch: 500, heldByOthers: 0) == 10)
        slots.reserve(4)
        #expect(slots.free == 6 && slots.room(batch: 500, heldByOthers: 0) == 6)
        var completion = Completion.succeeded(.sample)
        completion.took = .microseconds(10)
        slots.completed([completion])
        #expect(slots.room(batch: 500, heldByOthers: 0) == 500)
        #expect(slots.room(batch: 500, heldByOthers: 32_000) == 6)
        slots.claimed([], beginsOnly: true)
        #expect(slots.room(batch: 500, heldByOthers: 0) == 6)
    }

    @Test("a job that was handed back tells nothing of how long jobs take")
    func released() {
        var slots = Slots(count: 10)
        slots.completed([.released(.sample)])
        #expect(slots.room(batch: 500, heldByOthers: 0) == 10)
    }

    @Test("all waiting jobs are taken after 250 ms, or immediately if the worker stops or a job is on alone")
    func stalled() {
        var slots = Slots(count: 1)
        func stalled(after wait: Duration, isStopping: Bool = false, runsAlone: Bool = false) -> [Int64] {
            slots.takeStalled(at: now + wait, isStopping: isStopping, runsAlone: runsAlone).map(\.job.id)
        }
        _ = slots.add(samples.attempts(1...3, claimedAt: now))
        _ = slots.next(at: now, runsAlone: false)
        #expect(stalled(after: .milliseconds(249)) == [])
        #expect(stalled(after: .milliseconds(250)) == [2, 3])
        #expect(stalled(after: .seconds(1)) == [])
        _ = slots.add(samples.attempts(4...4, claimedAt: now))
        #expect(stalled(after: .zero, runsAlone: true) == [4])
        _ = slots.add(samples.attempts(5...5, claimedAt: now))
        #expect(stalled(after: .zero, isStopping: true) == [5])
    }

    @Test(
        "a job that must run alone waits separately, starts once when allowed, and is released only if the worker stops"
    )
    func alone() {
        var slots = Slots(count: 2)
        let alone = samples.attempt(.sample(1, crashes: 2), claimedAt: now)
        #expect(slots.add([alone]) == 0)
        #expect(slots.next(at: now, runsAlone: false) == nil)
        #expect(slots.takeStalled(at: now + .seconds(9), isStopping: false, runsAlone: true).isEmpty)
        #expect(slots.nextAlone(at: now) === alone && slots.nextAlone(at: now) == nil)
        #expect(slots.takeStalled(at: now, isStopping: true, runsAlone: true).isEmpty, "it runs")
        _ = slots.add(samples.attempts(2...2))
        #expect(slots.next(at: now, runsAlone: true) == nil, "alone")
        slots.remove(alone)
        #expect(slots.next(at: now, runsAlone: false)?.job.id == 2)
        _ = slots.add([samples.attempt(.sample(3, crashes: 2))])
        #expect(slots.takeStalled(at: now, isStopping: true, runsAlone: true).map(\.job.id) == [3])
    }

    @Test("slots that are empty keep no attempt alive")
    func letsGo() {
        var slots = Slots(count: 10)
        weak var first: Attempt?
        do {
            let attempts = samples.attempts(1...3)
            first = attempts[0]
            _ = slots.add(attempts)
        }
        while let attempt = slots.next(at: now, runsAlone: false) { slots.remove(attempt) }
        #expect(first == nil)
    }
}
