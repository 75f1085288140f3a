import Logging
import Postgres

/// Looks after the queues that sleep: one question for all of them, at once when one falls asleep, and then at each poll
/// interval; at each second one while wake-ups arrive. It raises the wake-up flag and finds what came before that, and every
/// job whose wake-up was lost.
struct IdleLook {
    let shared: WorkerState
    let loops: [ClaimLoop]

    /// Runs until its task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let asleep = loops.filter(\.isAsleep)
            if !asleep.isEmpty, shared.identity.current != nil {
                do {
                    try await look(at: asleep)
                } catch {
                    shared.logger.debug("no look at the sleeping queues", metadata: ["error": "\(error)"])
                }
            }
            let interval = shared.configuration.pollInterval * (shared.listens ? 2 : 1)
            await shared.dozed.wait(atMost: asleep.isEmpty ? nil : interval)
        }
    }

    private func look(at asleep: [ClaimLoop]) async throws {
        let rows = try await shared.control.query(
            Statement(
                "select errand.look_v1($1, $2, $3, $4)",
                [asleep.map(\.queue), shared.kinds, asleep.flatMap(\.starts), shared.listens]))
        let busy = Set(try rows.scalar([String].self))
        for loop in asleep where busy.contains(loop.queue) { loop.look() }
    }
}
