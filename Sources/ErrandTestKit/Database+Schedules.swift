import Postgres

extension Database {
    /// Sets when schedules ticked last, such as `now() - interval '1 day'`; the ticks since then are due.
    package func setLastTick(_ moment: String, of name: String = "%") async throws {
        try await execute(Statement("delete from errand.schedule_plan where schedule like $1", [name]))
        try await execute(
            Statement(
                "update errand.schedule set last_tick = \(moment), last_local = null, due_at = now() where name like $1",
                [name]))
    }
}
