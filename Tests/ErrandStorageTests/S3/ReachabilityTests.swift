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
            guard state.refusal(of: .write, at: now) == nil else { continue }
            tries += 1
            state.tried(.write, down, at: now)
        }
        #expect(tries == 13)
    }

    @Test("a store that an operator must fix is probed every 5 s; a busy one is tried immediately")
    func others() {
        var state = Reachability()
        state.tried(.read, StorageError(.misconfigured, "no such bucket"), at: .zero)
        #expect(state.refusal(of: .read, at: .seconds(4.9))?.code == .misconfigured)
        #expect(state.refusal(of: .read, at: .seconds(5)) == nil)
        state.tried(.read, StorageError(.busy, "slow down"), at: .seconds(5))
        #expect(state.refusal(of: .read, at: .seconds(5)) == nil)
    }

    @Test("while one caller probes, no other one does; after its success all do")
    func recovery() {
        var state = Reachability()
        state.tried(.write, down, at: .zero)
        #expect(state.refusal(of: .read, at: .seconds(1)) == nil)
        #expect(state.refusal(of: .read, at: .seconds(1))?.code == .unreachable)
        state.tried(.read, nil, at: .seconds(1.1))
        for _ in 1...2 { #expect(state.refusal(of: .read, at: .seconds(1.1)) == nil) }
    }

    @Test("a missing right counts for requests of its sort alone; wrong keys, and a server that is down, for all")
    func operations() {
        var state = Reachability()
        var denied = StorageError(.misconfigured, "AccessDenied")
        denied.isAboutRights = true
        state.tried(.delete, denied, at: .zero)
        #expect(state.refusal(of: .delete, at: .seconds(1))?.code == .misconfigured)
        state.tried(.write, nil, at: .seconds(1))
        for operation in [Reachability.Operation.read, .write, .list] {
            #expect(state.refusal(of: operation, at: .seconds(1)) == nil, "\(operation)")
        }
        #expect(state.refusal(of: .delete, at: .seconds(1))?.code == .misconfigured, "a write says nothing of deletes")
        state.tried(.list, StorageError(.misconfigured, "SignatureDoesNotMatch"), at: .seconds(1))
        #expect(state.refusal(of: .write, at: .seconds(2))?.code == .misconfigured)
        state.tried(.read, down, at: .seconds(2))
        #expect(state.refusal(of: .write, at: .seconds(2))?.code == .unreachable)
        #expect(state.refusal(of: .delete, at: .seconds(2))?.code == .unreachable)
    }
}
