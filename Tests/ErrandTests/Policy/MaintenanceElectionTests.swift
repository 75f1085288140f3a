import Testing

@testable import Errand

@Suite("Which workers do maintenance") struct MaintenanceElectionTests {
    private let fresh = MaintenanceElection(lease: .seconds(20))

    @Test("the three oldest workers do all tasks, the others none", arguments: [(0, true), (2, true), (3, false)])
    func oldest(older: Int, isOn: Bool) {
        var election = fresh
        election.counted(older: older, younger: 7)
        #expect(election.isElected(at: .zero) == isOn)
    }

    @Test("one that finds a job overdue does all tasks for a lease, by when heartbeats tell who is gone")
    func overdue() {
        var election = fresh
        election.counted(older: 5, younger: 0)
        election.foundOverdue(at: .seconds(100))
        #expect(election.isElected(at: .seconds(119)))
        #expect(!election.isElected(at: .seconds(120)))
        election.counted(older: 2, younger: 0)
        #expect(election.isElected(at: .seconds(120)))
    }

    @Test("the others together promote eight times a second at most, each every 5 s at most")
    func promotions() {
        var election = fresh
        election.counted(older: 3, younger: 1)
        #expect(election.promotionDelay == .seconds(5))
        election.counted(older: 100, younger: 99)
        #expect(election.promotionDelay == .seconds(25))
    }
}
