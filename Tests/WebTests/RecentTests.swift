import Synchronization
import Testing

@testable import Web

@Suite("A cached value") struct RecentTests {
    @Test("a hundred concurrent callers cost one query, and later callers none while it is fresh")
    func shared() async {
        let questions = Atomic(0)
        let recent = Recent(for: .seconds(600)) {
            try? await Task.sleep(for: .milliseconds(20))
            return questions.wrappingAdd(1, ordering: .relaxed).newValue
        }
        let replies = await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { await recent.value() } }
            return await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(replies == [1])
        #expect(await recent.value() == 1)
    }

    @Test("when the callers are stopped, so is the question")
    func stopped() async {
        let recent = Recent(for: .seconds(600)) {
            try? await Task.sleep(for: .seconds(600))
            return Task.isCancelled
        }
        let caller = Task { await recent.value() }
        caller.cancel()
        #expect(await caller.value)
    }

    @Test("an expired value is queried again")
    func asksAgain() async {
        let questions = Atomic(0)
        let recent = Recent(for: .zero) { questions.wrappingAdd(1, ordering: .relaxed).newValue }
        #expect(await recent.value() == 1)
        #expect(await recent.value() == 2)
    }
}
