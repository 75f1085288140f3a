import Postgres

extension Database {
    /// What batches break of their rules, once all of their jobs have ended: up to 20 faults.
    func faultsOfBatches() async throws -> [String] {
        try await query(
            """
            with job as materialized (
                select id, state, options, finished_at from errand.history
                union all
                select id, 'failed', options, finished_at from errand.failed
            ),
            member as materialized (
                select (options ->> 'batch')::bigint as batch_id, id, state, finished_at
                from job where options ? 'batch'
            ),
            callback as materialized (
                select (options ->> 'callback_of')::bigint as batch_id, array_agg(id order by id) as ids
                from job where options ? 'callback_of'
                group by 1
            )
            select format('batch %s: %s', batch.id, fault.text)
            from errand.batch
            left join callback on callback.batch_id = batch.id
            cross join lateral (
                select 'it has not ended' as text where batch.ended_at is null
                union all
                select format('it had %s jobs at its end, and now %s', batch.total, count(*))
                from member where member.batch_id = batch.id
                having count(*) is distinct from batch.total
                union all
                select format('it has succeeded before job %s ended', member.id)
                from member
                where member.batch_id = batch.id and batch.outcome = 'succeeded' and finished_at > batch.ended_at
                union all
                select format('it has succeeded, and job %s is %s', member.id, member.state)
                from member
                where member.batch_id = batch.id and batch.outcome = 'succeeded' and member.state <> 'succeeded'
                union all
                select format('it names other callbacks than %s', callback.ids)
                where callback.ids is distinct from array(
                    select id from unnest(array[success_job_id, finish_job_id, failure_job_id]) as id
                    where id is not null order by id)
                union all
                select format('it has %s, and its callbacks are others', batch.outcome)
                where finish_job_id is null or (success_job_id is not null) <> (outcome = 'succeeded')
                    or outcome = 'failed' and failure_job_id is null
            ) as fault
            limit 20
            """
        ).column(0, as: String.self)
    }
}
