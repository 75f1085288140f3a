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
            let asleep = loops.filter { !$0.isAwake }
            guard !asleep.isEmpty, shared.identity.current != nil else {
                await shared.dozed.wait(atMost: shared.configuration.pollInterval)
                continue
            }
            let isBusy = loops.contains(where: \.isClaiming)
            switch shared.doze.withLock({ $0.next(at: shared.uptime, isBusy: isBusy, listens: shared.listens) }) {
            case .wait(let pause):
                await shared.dozed.wait(atMost: pause)
            case .look(let arms):
                do {
                    try await look(at: asleep, arms: arms)
                } catch {
                    shared.logger.debug("no look at the sleeping queues", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    private func look(at asleep: [ClaimLoop], arms: Bool) async throws {
        let rows = try await shared.control.query(
            Statement(
                "select errand.look_v1($1, $2, $3, $4)",
                [asleep.map(\.queue), shared.kinds, asleep.flatMap(\.starts), arms]
            ).kept)
        let busy = Set(try rows.scalar([String].self))
        for loop in asleep where busy.contains(loop.queue) { loop.wake() }
    }
}
