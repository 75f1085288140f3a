import Testing

@testable import Errand

@Suite("The lease keeper's rest") struct LeaseKeeperSignalTests {
    private let long: Duration = .seconds(60)

    @Test("what begins to run ends a rest, also where it began just before")
    func begun() async {
        let signal = LeaseKeeperSignal()
        signal.notifyBegun()
        #expect(await signal.wait(atMost: long, resting: true).hasBegun)
        async let events = signal.wait(atMost: long, resting: true)
        try? await Task.sleep(for: .milliseconds(20))
        signal.notifyBegun()
        #expect(await events.hasBegun)
        #expect(await !signal.wait(atMost: .milliseconds(1), resting: true).hasBegun)
    }

    @Test("while it doesn't rest only a request ends its wait, and what began is told at its end")
    func requests() async {
        let signal = LeaseKeeperSignal()
        signal.notifyBegun()
        let quiet = await signal.wait(atMost: .milliseconds(1), resting: false)
        #expect(quiet.hasBegun && !quiet.needsHeartbeat)
        signal.requestHeartbeat()
        #expect(await signal.wait(atMost: long, resting: false).needsHeartbeat)
    }
}
