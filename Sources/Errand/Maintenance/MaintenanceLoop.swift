import Logging
import Postgres
import Waiting

/// Runs one task after the other, when the database says so.
struct MaintenanceLoop {
    let database: Database
    let timer: MaintenanceTimer
    let logger: Logger

    /// Runs until the timer is stopped.
    func run() async {
        var task: String?
        var backoff = Backoff()
        var throttle = LogThrottle()
        while await timer.wait() {
            do {
                let delay: Duration
                (task, delay) = try await run(task)
                timer.call(after: delay)
                backoff.reset()
            } catch {
                let delay = backoff.next()
                if throttle.allowsLine() {
                    logger.warning(
                        "maintenance is interrupted",
                        metadata: [
                            "task": "\(task ?? "none")", "error": "\(error)",
                            "retry_in_seconds": .stringConvertible(delay / .seconds(1)),
                        ])
                }
                task = nil
                timer.call(after: delay)
            }
        }
    }

    /// Runs this task, if it is due. Returns the next one, and the delay before it.
    private func run(_ task: String?) async throws -> (String?, Duration) {
        let rows = try await database.query(
            Statement("select * from errand_internal.maintain_v1($1, $2)", [task, timer.isLong]).prepared)
        let (note, next, delay) = try rows.row(of: "errand_internal.maintain_v1").decode(
            String?.self, String?.self, Int64?.self)
        if let task, let note {
            logger.warning("maintenance found a problem", metadata: ["task": "\(task)", "note": "\(note)"])
        }
        return (next, .microseconds(delay ?? 0))
    }
}
