import Testing

@testable import Command

@Suite("Signals") struct StopRequestsTests {
    private let start = ContinuousClock.now

    @Test("signals within a second of the first are one request")
    func echo() {
        var requests = StopRequests()
        #expect(!requests.isRequested)
        #expect(requests.heard(at: start) == .graceful)
        #expect(requests.isRequested)
        #expect(requests.heard(at: start) == .ignored)
        #expect(requests.heard(at: start + .milliseconds(999)) == .ignored)
    }

    @Test("a later signal stops it immediately; further signals change nothing")
    func later() {
        var requests = StopRequests()
        _ = requests.heard(at: start)
        #expect(requests.heard(at: start + .seconds(1)) == .atOnce)
        #expect(requests.heard(at: start + .seconds(3)) == .ignored)
    }
}
