import Testing
import Waiting

@testable import Errand

@Suite("When maintenance calls the database") struct MaintenanceTimerTests {
    /// Returns whether the timer's wait ends within `limit`.
    private func ends(_ timer: MaintenanceTimer, within limit: Duration) async -> Bool {
        let ended = Signal()
        let waiting = Task {
            _ = await timer.wait()
            ended.raise()
        }
        defer { timer.stop() }
        let hasEnded = await ended.wait(atMost: limit)
        timer.stop()
        await waiting.value
        return hasEnded
    }

    @Test("at first at once, and then after the delay of the last call", .timeLimit(.minutes(1)))
    func calls() async {
        let timer = MaintenanceTimer(isLong: false)
        #expect(await timer.wait())
        timer.call(after: .milliseconds(50))
        let called = ContinuousClock.now
        #expect(await timer.wait())
        #expect(.now - called >= .milliseconds(50))
        timer.call(after: .seconds(60))
        #expect(await !ends(timer, within: .milliseconds(100)))
        #expect(await !timer.wait())
    }

    @Test("the first call for long tasks comes later", .timeLimit(.minutes(1)))
    func first() async {
        #expect(await !ends(MaintenanceTimer(isLong: true, firstDelay: .seconds(60)), within: .milliseconds(100)))
        #expect(await ends(MaintenanceTimer(isLong: true, firstDelay: .milliseconds(50)), within: .seconds(20)))
        #expect(MaintenanceTimer.firstDelay == .seconds(5))
    }

    @Test("a probe that has looked puts the call off, and one that has found work has it made", .timeLimit(.minutes(1)))
    func found() async {
        let timer = MaintenanceTimer(isLong: false)
        timer.found(after: .seconds(60))
        async let hasEnded = ends(timer, within: .seconds(20))
        try? await Task.sleep(for: .milliseconds(50))
        timer.found(after: .zero)
        #expect(await hasEnded)
    }

    @Test("a probe ends no pause unless it has found work", .timeLimit(.minutes(1)))
    func foundNothing() async {
        for (delay, isCalled) in [(Duration.milliseconds(10), false), (.zero, true)] {
            let timer = MaintenanceTimer(isLong: false)
            timer.set(pause: .seconds(60))
            timer.found(after: delay)
            #expect(await ends(timer, within: isCalled ? .seconds(20) : .milliseconds(200)) == isCalled)
        }
    }

    @Test("younger workers pause between calls, until an older one is gone", .timeLimit(.minutes(1)))
    func pause() async {
        let timers = MaintenanceTimers()
        timers.set(pause: .seconds(60))
        for timer in [timers.short, timers.long] { timer.call(after: .zero) }
        async let hasEnded = ends(timers.short, within: .seconds(20))
        try? await Task.sleep(for: .milliseconds(50))
        timers.set(pause: .zero)
        #expect(await hasEnded)
        #expect(await timers.long.wait())
        timers.stop()
        #expect(await !timers.long.wait())
    }
}
