import Foundation
import Testing

@testable import Outbound

@Suite("Retry-After") struct RetryAfterTests {
    @Test(
        "seconds and dates are delays, of at most a day",
        arguments: [
            ("0", 0), ("7", 7), (" 90 ", 90), ("-5", 0), ("86401", 86_400), ("99999999999999999999", 86_400),
            ("Sat, 21 Nov 2026 04:05:49 GMT", 30), ("Saturday, 21-Nov-26 04:05:49 GMT", 30),
            ("Sat Nov 21 04:05:49 2026", 30), ("Sat, 21 Nov 2026 04:05:00 GMT", 0),
            ("Sat, 21 Nov 2099 04:05:00 GMT", 86_400),
        ])
    func delays(text: String, seconds: Int) {
        #expect(RetryAfter.delay(text, at: now) == .seconds(seconds))
    }

    @Test("what is neither is no delay", arguments: ["", "soon", "1.5", "5s", "Sat, 21 Nov", "0x10", "21/11/2026"])
    func noDelay(text: String) { #expect(RetryAfter.delay(text, at: now) == nil) }

    /// 2026-11-21 04:05:19 UTC.
    private let now = Date(timeIntervalSince1970: 1_795_233_919)
}
