import Testing

@testable import ErrandStorage

@Suite("Whether a server can be reached") struct ReachabilityTests {
    private let down = StorageError(.unreachable, "refused")

    @Test("after a failure one caller probes every 0.8 s, and the others fail immediately")
    func delays() {
        var state = Reachability()
        var tries = 0
        for tick in 0..<1000 {
            let now = Duration.milliseconds(tick * 10)
            guard state.refusal(at: now) == nil else { continue }
            tries += 1
            state.tried(down, at: now)
        }
        #expect(tries == 13)
    }

    @Test("a store that an operator must fix is probed every 5 s; a busy one is tried immediately")
    func others() {
        var state = Reachability()
        state.tried(StorageError(.misconfigured, "no such bucket"), at: .zero)
        #expect(state.refusal(at: .seconds(4.9))?.code == .misconfigured)
        #expect(state.refusal(at: .seconds(5)) == nil)
        state.tried(StorageError(.busy, "slow down"), at: .seconds(5))
        #expect(state.refusal(at: .seconds(5)) == nil)
    }

    @Test("while one caller probes, no other one does; after its success all do")
    func recovery() {
        var state = Reachability()
        state.tried(down, at: .zero)
        #expect(state.refusal(at: .seconds(1)) == nil)
        #expect(state.refusal(at: .seconds(1))?.code == .unreachable)
        state.tried(nil, at: .seconds(1.1))
        #expect(state.refusal(at: .seconds(1.1)) == nil && state.refusal(at: .seconds(1.1)) == nil)
    }
}
