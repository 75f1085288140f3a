import ErrandPush
import Testing

@testable import Jobs

@Suite("Delays between attempts of a push") struct PushBackoffTests {
    private func wait(_ code: PushError.Code, _ attempt: Int, left: Duration) -> Duration? {
        var random = SystemRandomNumberGenerator()
        return PushBackoff.delay(after: code, attempt: attempt, left: left, using: &random)
    }

    @Test("after a 5xx the delay is 15 minutes, then 30 and 60, if the push stays useful for that long")
    func asApplesWishes() throws {
        for (attempt, minutes) in [(1, 15), (2, 30), (3, 60), (9, 60)] {
            let delay = try #require(wait(.unavailable, attempt, left: .seconds(8 * 3600)))
            #expect(delay >= .seconds(minutes * 60) && delay <= .seconds(minutes * 60) * 1.2)
        }
    }

    @Test("in the last minute there are at least five attempts, each within the remaining time")
    func lastMinute() {
        for code in [PushError.Code.unavailable, .interrupted, .timedOut] {
            var left = Duration.seconds(60)
            var tries = 0
            while let delay = wait(code, tries + 1, left: left) {
                #expect(delay < left)
                left -= delay
                tries += 1
            }
            #expect((5...12).contains(tries))
        }
        #expect(wait(.interrupted, 1, left: .milliseconds(900)) == nil)
    }

    @Test("delays grow, and are longer for a device with too many pushes")
    func grows() throws {
        let delays = try (1...6).map { try #require(wait(.interrupted, $0, left: .seconds(8 * 3600))) }
        #expect(zip(delays, delays.dropFirst()).allSatisfy { $0 < $1 })
        #expect(try #require(wait(.deviceBusy, 1, left: .seconds(3600))) >= .seconds(3))
    }

    @Test("a service that says for how long it wants to be left alone is, unless the push is useless by then")
    func asAsked() throws {
        var random = SystemRandomNumberGenerator()
        func wait(_ asked: Int, left: Int, attempt: Int = 1) -> Duration? {
            PushBackoff.delay(
                after: .unavailable, attempt: attempt, left: .seconds(left), by: .fcm, asked: .seconds(asked),
                using: &random)
        }
        let delay = try #require(wait(90, left: 3600))
        #expect(delay >= .seconds(90) && delay <= .seconds(108))
        #expect(try #require(wait(1, left: 3600, attempt: 9)) > .seconds(200), "it grows beyond what was asked")
        // A jitter of less than a second still fits; a longer one is left out.
        let last = try #require(wait(90, left: 92))
        #expect(last >= .seconds(90) && last < .seconds(91))
        #expect(wait(90, left: 90) == nil)
    }

    @Test("Google's 503 without a time is retried after growing delays from 1 s on")
    func google() throws {
        var random = SystemRandomNumberGenerator()
        let delay = try #require(
            PushBackoff.delay(after: .unavailable, attempt: 1, left: .seconds(3600), by: .fcm, using: &random))
        #expect(delay <= .seconds(1))
    }
}
