import ErrandTestKit
import Postgres
import Testing

@testable import Errand

/// What a time means that lies in the future because the server's clock was set back.
@Suite("Times in the future") struct ClockColumnTests {
    private enum Sort: String {
        /// The event counts as if it had never happened: its task runs, and no figure includes it.
        case countsAsNever
        /// It becomes the present time once, and counts from there.
        case becomesNow
        /// It orders rows and is never changed, or a later row would come before an earlier one.
        case ordersRows
        /// It is meant to lie ahead and stays.
        case liesAhead
        /// Its row is kept, or only reported, by its age: both start when the clock reaches it.
        case ages
        /// It is shown, and compared with nothing.
        case isShown
    }

    private static let sorts: [Sort: String] = [
        .countsAsNever: """
        circuit.closed_at circuit.failed_at circuit.failing_since circuit.opened_at
        circuit.released_at finished_per_minute.minute guard.slow_at job.started_at maintenance_task.done_at
        outgoing.taken_at schedule.last_tick worker.missed_at
        """,
        .becomesNow: "rate_log.first_at rate_log.last_at worker.heartbeat_at worker.marks_moved_at",
        .ordersRows: "limit_mark.marked_at limit_mark.run_at limit_slot.admitted_at mark.stored_at step.recorded_at",
        .liesAhead: """
        circuit.until failed.not_after failed.run_at history.not_after history.run_at job.not_after job.run_at
        job_count.oldest_due_at queue.paused_until rate_reservation.start_at schedule.due_at schedule.ends_at
        schedule.next_tick schedule.starts_at
        schedule_plan.renew_at schedule_plan.ticks signal_wait.until
        unique_period.until
        """,
        .ages: """
        action.done_at batch.ended_at bulk.ended_at claim.claimed_at failed.finished_at finished_total.last_minute
        history.finished_at incoming.done_at job.created_at past_failure.finished_at progress.updated_at
        refused_enqueue.refused_at refused_total.last_at
        schedule.changed_at signal.signalled_at tick.tick
        """,
        .isShown: """
        api_token.set_at batch.closed_at batch.opened_at bulk.changed_at bulk.requested_at endpoint.set_at failed.created_at failed.started_at
        guard.registered_at
        handler.registered_at
        history.created_at history.started_at home.adopted_at key_rate.set_at kind.registered_at kind.untaken_since
        limit.set_at migration.applied_at order_slot.blocked_at
        queue.paused_at retention.set_at schedule.created_at schedule.paused_at script.applied_at tick.enqueued_at
        upgrade.started_at worker.drained_at worker.started_at
        """,
    ]

    @Test("each column with a time is of one sort")
    func columns() async throws {
        let sorted = Self.sorts.values.flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
        try await withTestDatabase { database, _ in
            let columns = try await database.query(
                """
                select holder.relname || '.' || attribute.attname
                from pg_class as holder
                join pg_attribute as attribute on attribute.attrelid = holder.oid
                where holder.relnamespace = 'errand'::regnamespace and holder.relkind in ('r', 'p')
                    and not holder.relispartition
                    and attribute.atttypid in ('timestamptz'::regtype, 'timestamptz[]'::regtype)
                """
            ).column(0, as: String.self)
            #expect(columns.sorted() == sorted.sorted())
        }
    }
}
