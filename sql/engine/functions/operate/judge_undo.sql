-- judge_undo: returns the jobs that an action has changed: where each is now, what it was, and why it can't be undone;
-- why is null for those that can. Jobs that waited for one of these and still do are left out.
--
-- is_in is the table that the job is in now, found_at when it ended there. Only what is as the action left it can be
-- undone: a job that has been started, ended or changed since stays as it is.
-- errand: after state_of
create or replace function errand_internal.judge_undo(action_id bigint) returns table (
    job_id bigint, was_in text, is_in text, was jsonb, state text, found_at timestamptz, is_child boolean,
    why text
)
language sql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    select
        change.job_id, change.was_in, found.is_in, change.was,
        coalesce(found.state, errand_internal.state_of(change.job_id)), found.finished_at,
        change.is_in is null,
        case
            when found.is_in is null then coalesce(
                'its state is ' || errand_internal.state_of(change.job_id) || ' now',
                (
                    select format('it has moved to cell %s', moved.to_cell)
                    from errand.moved_job as moved
                    where moved.job_id = change.job_id),
                'it is no longer on record')
            when found.state = 'running' then 'it is running'
            when found.started_at > action.done_at then 'it has run since'
            when change.is_in is null and found.state = 'cancelled' and found.reason not like 'job %, which it waited %'
                then 'it has been cancelled since'
            when found.is_in <> change.is_in then format('its state is %s now', found.state)
            when found.differs is not null then format('its %s has changed since', found.differs)
            when found.lacks_payload then 'its payload is no longer on record'
            when change.was_in = 'job' and found.is_in <> 'job' then (
                select format('job %s has its unique key', holder.id)
                from (
                    select live.id from errand.job as live where live.unique_key = found.unique_key
                    union all
                    select period.job_id
                    from errand.unique_period as period
                    where change.was ? 'unique_until' and period.unique_key = found.unique_key
                        and period.job_id <> change.job_id and period.until > now()) as holder
                limit 1)
        end
    from errand.action_change as change
    join errand.action on action.id = change.action_id
    left join lateral (
        select
            'job' as is_in, job.state, job.started_at, null::timestamptz as finished_at, null as reason,
            null as unique_key, false as lacks_payload, job.parked_for,
            case
                when change.became ? 'payload_md5' then (
                    select 'payload'
                    where change.became ->> 'payload_md5' <> md5(coalesce(
                        job.payload,
                        (
                            select large.payload
                            from errand.payload as large
                            where large.day = job.payload_day and large.job_id = job.id))::text))
                when jsonb_populate_record(job, change.became) is distinct from job then (
                    select string_agg(value.key, ', ' order by value.key)
                    from jsonb_each(change.became) as value
                    where jsonb_populate_record(job, jsonb_build_object(value.key, value.value)) is distinct from job)
            end as differs
        from errand.job
        where job.id = change.job_id
        union all
        select
            'failed', 'failed', failed.started_at, failed.finished_at, null, failed.unique_key, false, null,
            case
                when change.became ->> 'payload_md5' <> md5(failed.payload::text) then 'payload'
                when jsonb_populate_record(failed, change.became) is distinct from failed then 'finished_at'
            end
        from errand.failed
        where failed.id = change.job_id
        union all
        select
            'history', ended.state, null, ended.finished_at, ended.reason,
            case when ended.waiting_key is null then ended.unique_key end,
            ended.payload_day is not null and not exists (
                select
                from errand.payload as stored
                where stored.day = ended.payload_day and stored.job_id = ended.id),
            null, null
        from errand.history as ended
        where ended.id = change.job_id and ended.state = 'cancelled'
            and (ended.finished_at = (change.became ->> 'finished_at')::timestamptz
                or change.is_in is null and ended.finished_at >= action.done_at)) as found on true
    where change.action_id = judge_undo.action_id and change.job_id is not null
        -- It still waits.
        and (change.is_in is null and found.parked_for = change.was ->> 'parked_for') is not true
        -- A bulk action may have cancelled it later.
        and (change.is_in is not null or not exists (
            select
            from errand.action_change as other
            where other.action_id = change.action_id and other.job_id = change.job_id and other.is_in is not null))
$$;
