import Testing

@testable import Web

@Suite("Too many connections") struct ConnectionBudgetTests {
    @Test("the one that has been idle for longest is closed for a new one")
    func oldest() {
        var budget = ConnectionBudget<Int>(limit: 3)
        let room = [budget.opened(1), budget.opened(2), budget.opened(3)]
        #expect(room == [nil, nil, nil])
        // 1 gets an answer, and so is the last to have done something.
        budget.asked(1)
        budget.answered(1)
        let victims = [budget.opened(4), budget.opened(5), budget.opened(6)]
        #expect(victims == [2, 3, 1])
    }

    @Test("one that is owed an answer is closed only where all are")
    func owed() {
        var budget = ConnectionBudget<Int>(limit: 2)
        let room = [budget.opened(1), budget.opened(2)]
        #expect(room == [nil, nil])
        budget.asked(1)
        let idle = budget.opened(3)
        #expect(idle == 2)
        budget.asked(3)
        let oldest = budget.opened(4)
        #expect(oldest == 1)
    }

    @Test("one that was closed makes room")
    func closed() {
        var budget = ConnectionBudget<Int>(limit: 1)
        _ = budget.opened(1)
        budget.closed(1)
        // What is late to be told of it changes nothing.
        budget.answered(1)
        let victim = budget.opened(2)
        #expect(victim == nil)
    }
}
