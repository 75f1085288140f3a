import Testing

@testable import Errand

@Suite("Watchdog") struct WatchdogTests {
    /// Checks one loop once a second. Returns the seconds until the watchdog reports a hang; nil if it never does.
    private func found(
        lease: Duration = .seconds(20), statementTimeout: Duration? = .seconds(5), seconds: Int = 200,
        pulses: (Int) -> Int = { $0 }, heartbeats: (Int) -> Int = { $0 / 5 },
        _ loop: (Int) -> (iterations: Int, phase: Watchdog.Phase)
    ) -> Int? {
        var watchdog = Watchdog(lease: lease, statementTimeout: statementTimeout)
        return (0..<seconds).first { second in
            let sample = Watchdog.Sample(
                pulses: pulses(second), heartbeats: heartbeats(second),
                loops: ["default": loop(second), "idle": (1, .idle)])
            return watchdog.check(sample, at: .seconds(second)) != nil
        }
    }

    @Test("a loop that has work and makes no progress for longer than the lease is found")
    func standsStill() {
        #expect(found { _ in (7, .due) } == 21)
        #expect(found { ($0 < 50 ? $0 : 50, .due) } == 71)
    }

    @Test("a loop that makes progress now and then, or has no work, is not")
    func iterations() {
        #expect(found { ($0 / 15, .due) } == nil)
        #expect(found { _ in (7, .idle) } == nil)
        #expect(found { (7, $0 % 20 == 0 ? .idle : .due) } == nil)
    }

    @Test("a loop that waits for the database is reported only if heartbeats succeed, and after the timeouts")
    func database() {
        #expect(found { _ in (7, .asking) } == 41)
        #expect(found(heartbeats: { _ in 3 }) { _ in (7, .asking) } == nil)
        #expect(found(statementTimeout: nil) { _ in (7, .asking) } == nil)
    }

    @Test("tasks that don't run are reported after three leases, whatever the loops do")
    func blocked() {
        #expect(found(pulses: { min($0, 10) }, heartbeats: { _ in 0 }) { _ in (7, .asking) } == 71)
        #expect(found(pulses: { min($0, 10) }) { _ in (7, .asking) } == 71)
        #expect(found(pulses: { min($0, 10) }) { _ in (7, .due) } == 71)
        #expect(found(pulses: { $0 / 15 }) { _ in (7, .idle) } == nil)
    }

    @Test("a process that was stopped itself has all its time before it again")
    func stopped() {
        var watchdog = Watchdog(lease: .seconds(20), statementTimeout: nil)
        let sample = Watchdog.Sample(pulses: 1, heartbeats: 1, loops: ["default": (7, .due)])
        #expect(watchdog.check(sample, at: .seconds(0)) == nil)
        #expect(watchdog.check(sample, at: .seconds(100)) == nil)
        for second in 101...160 { #expect(watchdog.check(sample, at: .seconds(second)) == nil) }
        #expect(
            watchdog.check(sample, at: .seconds(161)) == "no task was run for 61.0 seconds: handlers block all threads")
    }

    @Test("the report is a sentence with the queue's name")
    func words() {
        var watchdog = Watchdog(lease: .seconds(1), statementTimeout: nil)
        for quarter in 0...4 {
            let sample = Watchdog.Sample(pulses: quarter, heartbeats: 1, loops: ["mail": (7, .due)])
            #expect(watchdog.check(sample, at: .milliseconds(250 * quarter)) == nil)
        }
        let sample = Watchdog.Sample(pulses: 9, heartbeats: 1, loops: ["mail": (7, .due)])
        #expect(
            watchdog.check(sample, at: .milliseconds(1250))
                == "the claim loop of mail has made no progress for 1.25 seconds")
    }
}
