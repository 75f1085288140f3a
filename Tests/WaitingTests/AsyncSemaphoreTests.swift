import Testing

@testable import Waiting

private actor Inside {
    private(set) var now = 0
    private(set) var most = 0
    private(set) var all = 0

    func enter() {
        now += 1
        most = max(most, now)
        all += 1
    }

    func leave() { now -= 1 }
}

@Suite("A semaphore") struct AsyncSemaphoreTests {
    @Test("waiters are admitted in order of arrival, and the largest runs alone")
    func order() {
        var permits = Permits(100)
        #expect(permits.arrive(1, needs: 60) == [1])
        #expect(permits.arrive(2, needs: 60) == [])
        #expect(permits.arrive(3, needs: 10) == [], "nobody overtakes")
        #expect(permits.leave(60) == [2, 3])
        #expect(permits.arrive(4, needs: 1000) == [])
        #expect(permits.arrive(5, needs: 1) == [])
        #expect(permits.leave(60) == [])
        #expect(permits.leave(10) == [4])
        #expect(permits.giveUp(4) == nil)
        #expect(permits.leave(1000) == [5])
        #expect(permits.arrive(6, needs: 100) == [])
        #expect(permits.giveUp(6) == [])
        #expect(permits.taken == 1)
    }

    @Test("no more tasks than permits are inside, and each gets in")
    func bound() async throws {
        let semaphore = AsyncSemaphore(permits: 3)
        let inside = Inside()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await semaphore.with(1) {
                        await inside.enter()
                        await inside.leave()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(await inside.now == 0)
        #expect(await inside.most <= 3)
        #expect(await inside.all == 100)
    }

    @Test("a waiter that is cancelled never gets in, and holds up nobody")
    func cancelled() async throws {
        let semaphore = AsyncSemaphore(permits: 1)
        try await semaphore.with(1) {
            let waiter = Task { try await semaphore.with(1) { Issue.record("it got in") } }
            waiter.cancel()
            await #expect(throws: CancellationError.self) { try await waiter.value }
        }
        #expect(try await semaphore.with(1) { true })
    }
}
