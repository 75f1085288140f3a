-- resolve_conflict: for errand_internal.insert_job: does with the unfinished job that has the unique key of a wanted
-- one what on_conflict of errand.enqueue asks. A job whose last moment has passed becomes obsolete. A running job gives
-- up its key for one that has it only while it waits, and is cancelled by supersede. To merge, so does a job in the
-- middle of its work (errand_internal.regain_keys).
--
-- Returns the job's id and state, and what was done with it, as the reasons of errand.refused_enqueues. Returns nulls
-- if the key is free by now. Raises ER409 if on_conflict is error.
create or replace function errand_internal.resolve_conflict(
    wanted errand.job, on_conflict text, no_later_than interval default null, out job_id bigint, out state text,
    out outcome text
)
-- A plan from when the table was empty would read all of it forever.
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    existing errand.job;
    former record;
    is_due boolean;
begin
    if errand_internal.free_key(wanted.unique_key) then
        return;
    end if;
    if on_conflict in ('merge', 'supersede') or wanted.waiting_key is not null then
        -- Locked first, so that what is read of it below is the newest.
        select * into existing from errand.job where unique_key = wanted.unique_key for update;
        if not found then
            return;
        elsif existing.state = 'running' and on_conflict = 'supersede' then
            perform errand_internal.cancel_superseded(existing, wanted.id);
            return;
        elsif wanted.waiting_key is not null and (
            existing.state = 'running' or on_conflict = 'merge' and (
                starts_with(existing.parked_for, 'signal:')
                or exists (select from errand.step where step.job_id = existing.id)))
        then
            update errand.job set unique_key = null, waiting_key = wanted.waiting_key where id = existing.id;
            return;
        end if;
    end if;
    if no_later_than is not null then
        wanted.run_at := least(wanted.run_at, greatest(existing.created_at + no_later_than, now()));
    end if;
    is_due := wanted.run_at <= now();
    if on_conflict in ('replace', 'supersede') then
        select id, options ->> 'order_key' as key into former
        from errand.job
        where unique_key = wanted.unique_key and job.state <> 'running' and options ? 'order_key'
        for update;
        update errand.job
        set queue = wanted.queue, kind = wanted.kind, payload = wanted.payload, run_at = wanted.run_at,
            state = wanted.state, queue_position = case when wanted.state = 'available' then job.queue_position end,
            priority = wanted.priority, attempt = 0, crashes = 0, max_attempts = wanted.max_attempts,
            not_after = wanted.not_after, limit_key = wanted.limit_key, rate_key = wanted.rate_key,
            guard = wanted.guard, tags = wanted.tags, subject = wanted.subject, waiting_key = wanted.waiting_key,
            parked_for = wanted.parked_for,
            -- It stays in the batch in which it is.
            options = case
                when (job.options ? 'batch') is not true and (wanted.options ? 'batch') is not true then wanted.options
                else nullif(
                    coalesce(wanted.options, '{}') - 'batch'
                        || coalesce(jsonb_strip_nulls(jsonb_build_object('batch', job.options -> 'batch')), '{}'), '{}')
            end
        where unique_key = wanted.unique_key and job.state <> 'running'
        returning id, job.state, 'replaced' into job_id, state, outcome;
        if former.id = job_id and wanted.parked_for is distinct from 'order:' || former.key then
            perform errand_internal.order_ended(array[former.key], array[job_id], releases => false);
        end if;
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
        returning id, job.state, 'rescheduled' into job_id, state, outcome;
    elsif on_conflict = 'merge' then
        update errand.job
        set payload = errand_internal.merged_payload(existing, wanted.kind, wanted.payload),
            -- Claims may have passed its locked row, as in errand.edit_job.
            is_handed_back = case when job.state = 'available' then true else is_handed_back end
        where id = existing.id
        returning id, job.state, 'merged' into job_id, state, outcome;
    end if;
    if job_id is not null then
        return;
    end if;
    select id, job.state into job_id, state from errand.job where unique_key = wanted.unique_key;
    if found and on_conflict = 'error' then
        raise exception 'enqueue: unique_key: expected one that no unfinished job has, got that of job %', job_id
            using errcode = 'ER409', hint = 'The key is free again when that job has ended.';
    end if;
    outcome := case when on_conflict = 'keep' then 'unique' else 'running' end;
end
$$;
