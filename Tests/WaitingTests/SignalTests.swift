import Testing

@testable import Waiting

@Suite("A signal") struct SignalTests {
    @Test("signals without a waiter are kept as one")
    func stays() async {
        let signal = Signal()
        signal.raise()
        signal.raise()
        #expect(await signal.wait())
        #expect(await !signal.wait(atMost: .milliseconds(1)))
    }

    @Test("a wait ends at a raise, or at its limit")
    func ends() async {
        let signal = Signal()
        #expect(await !signal.wait(atMost: .milliseconds(1)))
        async let isRaised = signal.wait(atMost: .seconds(60))
        signal.raise()
        #expect(await isRaised)
    }

    @Test("no raise is lost among thousands, whether its wait has begun or not")
    func race() async {
        let (ping, pong) = (Signal(), Signal())
        async let echo: Void = {
            for _ in 0..<5000 {
                await ping.wait()
                pong.raise()
            }
        }()
        for _ in 0..<5000 {
            ping.raise()
            #expect(await pong.wait(atMost: .seconds(60)))
        }
        await echo
    }
}
