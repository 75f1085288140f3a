import Testing

@testable import Postgres

@Suite("The order of hosts") struct HostOrderTests {
    private let start = ContinuousClock.now

    /// The hosts that a connection tries if none accepts.
    private func tried(_ order: inout HostOrder, after seconds: Int) -> [Int] {
        var tried: [Int] = []
        while let host = order.next(after: tried, at: start + .seconds(seconds)) { tried.append(host) }
        return tried
    }

    @Test("the host that accepted last comes first, the others keep their order")
    func accepted() {
        var order = HostOrder(count: 3)
        #expect(tried(&order, after: 0) == [0, 1, 2])
        order.note(.refused, of: 0, at: start)
        order.note(.refused, of: 1, at: start)
        order.note(.accepted, of: 2, at: start)
        #expect(tried(&order, after: 0) == [2, 0, 1])
    }

    @Test("a host that hung is tried last, by one connection in two seconds, until it replies")
    func hung() {
        var order = HostOrder(count: 3)
        order.note(.accepted, of: 0, at: start)
        order.note(.hung, of: 0, at: start)
        #expect(tried(&order, after: 1) == [1, 2])
        #expect(tried(&order, after: 2) == [1, 2, 0])
        #expect(tried(&order, after: 3) == [1, 2])
        order.note(.refused, of: 0, at: start + .seconds(3))
        #expect(tried(&order, after: 3) == [1, 2, 0])
        #expect(tried(&order, after: 3) == [1, 2, 0])
    }

    @Test("if all hosts hung, each connection still tries one")
    func allHung() {
        var order = HostOrder(count: 2)
        order.note(.hung, of: 0, at: start)
        order.note(.hung, of: 1, at: start)
        #expect(tried(&order, after: 1).count == 1)
    }

    @Test("a stalled host comes last, and only connections opened before are void")
    func stalled() {
        var order = HostOrder(count: 2)
        order.note(.accepted, of: 0, at: start)
        order.stalled(0, at: start + .seconds(5))
        #expect(tried(&order, after: 5) == [1, 0])
        #expect(order.hasStalled(0, since: start))
        #expect(!order.hasStalled(0, since: start + .seconds(6)))
        #expect(!order.hasStalled(1, since: start))
    }
}
