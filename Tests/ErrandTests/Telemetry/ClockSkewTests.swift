import Foundation
import Testing

@testable import Errand

@Suite("When a wrong clock is logged") struct ClockSkewTests {
    private let now = ContinuousClock.now
    private let server = Date(timeIntervalSince1970: 1_800_000_000)

    /// The difference that is logged for a host whose clock is `ahead` seconds ahead.
    private func logged(_ ahead: Double, _ skew: inout ClockSkew, took: Double = 0, after: Duration = .zero) -> Double?
    {
        let sent = server + ahead - took / 2
        return skew.seconds(server: server, sent: sent, received: sent + took, at: now + after)
    }

    @Test("more than a minute, ahead or behind", arguments: [61, -61, 86_400, -86_400] as [Double])
    func wrong(seconds: Double) {
        var skew = ClockSkew()
        #expect(logged(seconds, &skew) == seconds)
    }

    @Test("not a minute or less, and not what a slow round trip may have caused")
    func right() {
        var skew = ClockSkew()
        #expect(logged(60, &skew) == nil)
        #expect(logged(-60, &skew) == nil)
        #expect(logged(64, &skew, took: 10) == nil)
        #expect(logged(66, &skew, took: 10) == 61)
    }

    @Test("again after ten minutes, or when it was right meanwhile")
    func again() {
        var skew = ClockSkew()
        #expect(logged(3600, &skew) == 3600)
        #expect(logged(3600, &skew, after: .seconds(599)) == nil)
        #expect(logged(3600, &skew, after: .seconds(600)) == 3600)
        #expect(logged(0, &skew, after: .seconds(605)) == nil)
        #expect(logged(-3600, &skew, after: .seconds(610)) == -3600)
    }
}
