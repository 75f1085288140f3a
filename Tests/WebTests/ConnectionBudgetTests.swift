import Testing

@testable import Web

@Suite("Too many connections") struct ConnectionBudgetTests {
    @Test("the one that has been idle for longest is closed for a new one")
    func oldest() {
        var budget = ConnectionBudget<Int>(limit: 3)
        let room = [budget.opened(1), budget.opened(2), budget.opened(3)]
        #expect(room == [nil, nil, nil])
        // 1 gets a response, so it was active last.
        budget.received(1)
        budget.responded(1)
        let victims = [budget.opened(4), budget.opened(5), budget.opened(6)]
        #expect(victims == [2, 3, 1])
    }

    @Test("one that waits for a response is closed only if all do")
    func awaiting() {
        var budget = ConnectionBudget<Int>(limit: 2)
        let room = [budget.opened(1), budget.opened(2)]
        #expect(room == [nil, nil])
        budget.received(1)
        let idle = budget.opened(3)
        #expect(idle == 2)
        budget.received(3)
        let oldest = budget.opened(4)
        #expect(oldest == 1)
    }

    @Test("one that was closed makes room")
    func closed() {
        var budget = ConnectionBudget<Int>(limit: 1)
        _ = budget.opened(1)
        budget.closed(1)
        // A late event of a closed connection changes nothing.
        budget.responded(1)
        let victim = budget.opened(2)
        #expect(victim == nil)
    }
}
