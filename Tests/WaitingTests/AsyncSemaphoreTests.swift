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

    @Test("what is in use and who waits can be read at any time")
    func usage() async throws {
        #expect(AsyncSemaphore(permits: nil).usage == .init(permits: nil, taken: 0, waiting: 0))
        let semaphore = AsyncSemaphore(permits: 3)
        try await semaphore.with(2) {
            #expect(semaphore.usage == .init(permits: 3, taken: 2, waiting: 0))
            let waiting = Task { try await semaphore.with(2) {} }
            while semaphore.usage.waiting == 0 { await Task.yield() }
            #expect(semaphore.usage == .init(permits: 3, taken: 2, waiting: 1))
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(semaphore.usage.waiting == 0)
        }
        #expect(semaphore.usage == .init(permits: 3, taken: 0, waiting: 0))
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
