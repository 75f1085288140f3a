import Glibc
import Testing

@testable import Command

@Suite("Signals") struct StopRequestsTests {
    private let start = ContinuousClock.now

    @Test("signals within a second of the first are one request")
    func echo() {
        var requests = StopRequests()
        #expect(!requests.isRequested)
        #expect(requests.heard(SIGTERM, at: start) == .graceful)
        #expect(requests.isRequested)
        #expect(requests.heard(SIGTERM, at: start) == .ignored)
        #expect(requests.heard(SIGTERM, at: start + .milliseconds(999)) == .ignored)
    }

    @Test("a later signal stops it immediately; further signals change nothing")
    func later() {
        var requests = StopRequests()
        _ = requests.heard(SIGTERM, at: start)
        #expect(requests.heard(SIGTERM, at: start + .seconds(1)) == .atOnce)
        #expect(requests.heard(SIGTERM, at: start + .seconds(3)) == .ignored)
    }

    @Test("SIGHUP and SIGQUIT stop it immediately")
    func forced() {
        for signal in [SIGHUP, SIGQUIT] {
            var requests = StopRequests()
            #expect(requests.heard(signal, at: start) == .atOnce)
            #expect(requests.isRequested)
            #expect(requests.heard(SIGTERM, at: start + .seconds(2)) == .ignored)
        }
    }

    @Test("SIGHUP right after SIGTERM is the same request, SIGQUIT is another one")
    func forcedWithinEcho() {
        var requests = StopRequests()
        _ = requests.heard(SIGTERM, at: start)
        #expect(requests.heard(SIGHUP, at: start + .milliseconds(1)) == .ignored)
        #expect(requests.heard(SIGQUIT, at: start + .milliseconds(2)) == .atOnce)
    }
}
