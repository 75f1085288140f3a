import Testing

@testable import Errand

@Suite("Whose turn maintenance is") struct MaintenanceTurnTests {
    private let fresh = MaintenanceTurn(lease: .seconds(20))

    @Test("the three oldest workers do all tasks, the others none", arguments: [(0, true), (2, true), (3, false)])
    func oldest(older: Int, isOn: Bool) {
        var turn = fresh
        turn.counted(older: older, younger: 7)
        #expect(turn.isOn(at: .zero) == isOn)
    }

    @Test("one that finds a job overdue does all tasks for a lease, by when heartbeats tell who is gone")
    func overdue() {
        var turn = fresh
        turn.counted(older: 5, younger: 0)
        turn.foundOverdue(at: .seconds(100))
        #expect(turn.isOn(at: .seconds(119)))
        #expect(!turn.isOn(at: .seconds(120)))
        turn.counted(older: 2, younger: 0)
        #expect(turn.isOn(at: .seconds(120)))
    }

    @Test("the others together promote eight times a second at most, each every 5 s at most")
    func promotions() {
        var turn = fresh
        turn.counted(older: 3, younger: 1)
        #expect(turn.promotionDelay == .seconds(5))
        turn.counted(older: 100, younger: 99)
        #expect(turn.promotionDelay == .seconds(25))
    }
}
