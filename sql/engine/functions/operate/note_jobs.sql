-- note_jobs: notes for errand.undo what an action is about to change of these jobs, which the caller has locked.
--
-- was_in and is_in name the table that they are in and the one that the action moves them to: job, failed or history.
-- due_at and became have an element for each id: its time, and other values after the action. Null is as
-- errand_internal.requeue_jobs and move_jobs have it. Of jobs that are cancelled, those that wait for them are noted
-- too: they may be released or cancelled. Without an action nothing is noted.
--
-- Payloads and records of attempts go with the job, and aren't noted, unless became has the MD5 of another payload.
create or replace function errand_internal.note_jobs(
    action_id bigint, ids bigint[], was_in text, is_in text, due_at timestamptz[] default null,
    became jsonb[] default null
) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    same constant text[] := '{id,payload,payload_day,payload_bytes,attempts,created_at,kind,max_attempts,unique_key,
        waiting_key,limit_key,rate_key,guard,tags,subject,queue_position,is_handed_back}';
begin
    if note_jobs.action_id is null then
        return;
    end if;
    insert into errand.action_change (action_id, job_id, was_in, is_in, subject, was, became)
    select
        note_jobs.action_id, asked.id, note_jobs.was_in, note_jobs.is_in, old.subject,
        old.was,
        case
            when asked.became ? 'payload_md5' then '{}'
            when note_jobs.is_in = 'job' then jsonb_build_object(
                'run_at', coalesce(asked.due_at, old.due_at), 'queue', old.queue, 'priority', old.priority)
            else jsonb_build_object('finished_at', now())
        end || coalesce(asked.became, '{}')
    from unnest(note_jobs.ids, note_jobs.due_at, note_jobs.became) as asked(id, due_at, became)
    cross join lateral (
        select
            job.subject, job.queue, job.priority, job.run_at as due_at,
            case
                when asked.became ? 'payload_md5' then
                    jsonb_build_object('payload', coalesce(
                        job.payload,
                        (
                            select large.payload
                            from errand.payload as large
                            where large.day = job.payload_day and large.job_id = job.id)))
                -- The rest stays the same.
                when note_jobs.is_in = 'job' then
                    jsonb_build_object(
                        'state', job.state, 'parked_for', job.parked_for, 'run_at', job.run_at, 'queue', job.queue,
                        'priority', job.priority)
                -- The history keeps the rest.
                when note_jobs.is_in = 'history' and asked.became is null then
                    jsonb_build_object('state', job.state, 'parked_for', job.parked_for, 'run_at', job.run_at)
                    || coalesce(
                        case when job.unique_key is not null then (
                            select jsonb_build_object('unique_until', period.until)
                            from errand.unique_period as period
                            where period.unique_key = job.unique_key and period.job_id = job.id)
                        end, '{}') || coalesce(
                        case when starts_with(job.parked_for, 'signal:') then (
                            select jsonb_build_object('signal_wait', to_jsonb(waits))
                            from errand.signal_wait as waits
                            where waits.job_id = job.id)
                        end, '{}')
                else to_jsonb(job) - same
            end as was
        from errand.job
        where note_jobs.was_in = 'job' and job.id = asked.id
        union all
        select
            failed.subject, failed.queue, failed.priority, now(),
            case
                when asked.became ? 'payload_md5' then jsonb_build_object('payload', failed.payload)
                when note_jobs.is_in = 'history' and asked.became is null then
                    jsonb_build_object(
                        'finished_at', failed.finished_at, 'error', failed.error, 'fingerprint', failed.fingerprint)
                    || coalesce(
                        case when failed.unique_key is not null then (
                            select jsonb_build_object('unique_until', period.until)
                            from errand.unique_period as period
                            where period.unique_key = failed.unique_key and period.job_id = failed.id)
                        end, '{}')
                else jsonb_build_object(
                    'finished_at', failed.finished_at, 'error', failed.error, 'fingerprint', failed.fingerprint,
                    'run_at', failed.run_at, 'not_after', failed.not_after, 'worker_id', failed.worker_id,
                    'started_at', failed.started_at, 'attempt', failed.attempt, 'crashes', failed.crashes,
                    'options', failed.options)
            end
        from errand.failed
        where note_jobs.was_in = 'failed' and failed.id = asked.id
        union all
        select
            ended.subject, ended.queue, ended.priority, greatest(ended.run_at, now()),
            jsonb_build_object(
                'finished_at', ended.finished_at, 'state', ended.state, 'reason', ended.reason, 'output', ended.output,
                'run_at', ended.run_at, 'not_after', ended.not_after, 'worker_id', ended.worker_id,
                'started_at', ended.started_at, 'attempt', ended.attempt, 'crashes', ended.crashes,
                'options', ended.options)
        from errand.history as ended
        where note_jobs.was_in = 'history' and ended.id = asked.id and ended.state = 'cancelled'
    ) as old;
    if note_jobs.was_in = 'job' and note_jobs.is_in <> 'job' and errand_internal.any_waits_for_jobs() then
        with recursive child as (
            select job.id, job.subject, job.run_at, job.parked_for
            from unnest(note_jobs.ids) as parent
            join errand.job on job.parked_for = 'job:' || parent
            union
            select job.id, job.subject, job.run_at, job.parked_for
            from child
            join errand.job on job.parked_for = 'job:' || child.id
        )
        insert into errand.action_change (action_id, job_id, was_in, subject, was)
        select
            note_jobs.action_id, child.id, 'job', child.subject,
            jsonb_build_object('state', 'parked', 'parked_for', child.parked_for, 'run_at', child.run_at)
        from child
        where child.id not in (select unnest(note_jobs.ids));
    end if;
end
$$;
