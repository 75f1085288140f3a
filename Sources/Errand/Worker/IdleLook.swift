import Logging
import Postgres
import Synchronization

/// Looks after the queues that sleep, with one question for all of them; see ``DozePolicy``.
struct IdleLook {
    let shared: WorkerState
    let loops: [ClaimLoop]

    /// Runs until its task is cancelled.
    func run() async {
        while !Task.isCancelled {
            guard loops.contains(where: { !$0.isAwake }), shared.identity.current != nil else {
                await shared.dozed.wait(atMost: shared.configuration.pollInterval)
                continue
            }
            let isBusy = loops.contains(where: \.isClaiming)
            switch shared.doze.withLock({ $0.next(at: shared.uptime, isBusy: isBusy, listens: shared.listens) }) {
            case .wait(let pause):
                await shared.dozed.wait(atMost: pause)
            case .look(let arms):
                do {
                    // Only now: a queue that fell asleep before a wake-up came is among them.
                    try await look(at: loops.filter { !$0.isAwake }, arms: arms)
                } catch {
                    shared.logger.debug("no look at the sleeping queues", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    private func look(at asleep: [ClaimLoop], arms: Bool) async throws {
        let rows = try await shared.claims.query(
            Statement(
                "select * from errand.look_v1($1, $2, $3, $4)",
                [asleep.map(\.queue), shared.kinds, asleep.flatMap(\.starts), arms]
            ).kept)
        guard let (busy, roomIn) = try rows.first?.decode([String].self, Int64?.self) else {
            throw UnexpectedAnswer("errand.look_v1", expected: "one row", came: "none")
        }
        if let roomIn {
            let time = shared.uptime + .microseconds(roomIn)
            shared.doze.withLock { $0.expects(workAt: time) }
        }
        for loop in asleep where busy.contains(loop.queue) { loop.wake() }
    }
}
