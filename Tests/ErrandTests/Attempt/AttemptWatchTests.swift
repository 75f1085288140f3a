import Testing

@testable import Errand

@Suite("The lease keeper's rest") struct AttemptWatchTests {
    private let long: Duration = .seconds(60)

    @Test("a started job ends a rest, even if it started just before")
    func begun() async {
        let signal = AttemptWatch()
        signal.notifyBegun()
        #expect(await signal.wait(atMost: long, resting: true).hasBegun)
        async let events = signal.wait(atMost: long, resting: true)
        try? await Task.sleep(for: .milliseconds(20))
        signal.notifyBegun()
        #expect(await events.hasBegun)
        #expect(await !signal.wait(atMost: .milliseconds(1), resting: true).hasBegun)
    }

    @Test("without a rest only a request ends the wait, and started jobs are reported afterwards")
    func requests() async {
        let signal = AttemptWatch()
        signal.notifyBegun()
        let quiet = await signal.wait(atMost: .milliseconds(1), resting: false)
        #expect(quiet.hasBegun && !quiet.needsHeartbeat)
        signal.requestHeartbeat()
        #expect(await signal.wait(atMost: long, resting: false).needsHeartbeat)
    }
}
