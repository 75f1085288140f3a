-- resolve_conflict: for errand_internal.insert_job: keeps, replaces or reschedules the unfinished job that has the
-- unique key of a wanted one, as on_conflict of errand.enqueue asks. A job whose last moment has passed becomes
-- obsolete.
--
-- Returns the job's id and state. Returns nulls if the key is free by now. Raises ER409 if on_conflict is error.
create or replace function errand_internal.resolve_conflict(
    wanted errand.job, on_conflict text, out job_id bigint, out state text
)
-- A plan from when the table was empty would read all of it forever.
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    is_due constant boolean := wanted.run_at <= now();
begin
    if errand_internal.free_key(wanted.unique_key) then
        return;
    end if;
    if on_conflict = 'replace' then
        update errand.job
        set queue = wanted.queue, kind = wanted.kind, payload = wanted.payload, run_at = wanted.run_at,
            state = wanted.state, queue_position = case when wanted.state = 'available' then job.queue_position end,
            priority = wanted.priority, attempt = 0, crashes = 0, max_attempts = wanted.max_attempts,
            not_after = wanted.not_after, limit_key = wanted.limit_key, rate_key = wanted.rate_key,
            guard = wanted.guard, tags = wanted.tags,
            subject = wanted.subject, options = wanted.options, parked_for = wanted.parked_for
        where unique_key = wanted.unique_key and job.state <> 'running'
        returning id, job.state into job_id, state;
        -- Of another payload.
        delete from errand.step where step.job_id = resolve_conflict.job_id;
    elsif on_conflict = 'reschedule' then
        update errand.job
        set run_at = wanted.run_at,
            -- A job that waits for others goes on waiting for them. One that waits for a limit or a circuit does if it
            -- is due. The claim checks its own limit, which this call doesn't name.
            state = case
                when starts_with(job.parked_for, 'job:') then job.state
                when not is_due then 'scheduled' when job.state = 'parked' then 'parked' else 'available'
            end,
            queue_position = case when is_due then job.queue_position end,
            parked_for = case when is_due or starts_with(job.parked_for, 'job:') then job.parked_for end
        where unique_key = wanted.unique_key and job.state <> 'running'
        returning id, job.state into job_id, state;
    end if;
    if job_id is not null then
        return;
    end if;
    select id, job.state into job_id, state from errand.job where unique_key = wanted.unique_key;
    if found and on_conflict = 'error' then
        raise exception 'enqueue: unique_key: expected one that no unfinished job has, got that of job %', job_id
            using errcode = 'ER409', hint = 'The key is free again when that job has ended.';
    end if;
end
$$;
