-- blank_jobs: blanks ended jobs: payload, keys, tags, progress, steps, errors, result, subject, the names of
-- signals, and what errand.undo would bring back. For functions of apps; no role may call it.
--
-- Cancelled ones are obsolete then: a retry would run them again without their payload.
--
-- reason replaces that of the jobs, and of operators' actions that changed no other jobs. Who did what and when stays
-- in errand.audit. Returns the number of changed rows.
-- errand: after without_errors
create or replace function errand_internal.blank_jobs(jobs bigint[], reason text) returns bigint
-- A plan from when the tables were empty would read all of them forever.
language plpgsql set search_path = pg_catalog, errand, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    changed bigint;
    part bigint;
begin
    with blanked as (
        update errand.history
        set state = case state when 'cancelled' then 'obsolete' else state end,
            payload = case when payload is not null then '{}'::jsonb end,
            attempts = errand_internal.without_errors(attempts),
            output = null, reason = case when reason is not null then $2 end, unique_key = null, waiting_key = null,
            tags = null, limit_key = null, rate_key = null, subject = null,
            options = options - '{signal,order_key}'::text[]
        where id = any ($1)
        returning id, payload_day
    ),
    emptied as (
        update errand.payload as large set payload = '{}'
        from blanked
        where large.day = blanked.payload_day and large.job_id = blanked.id
    )
    select count(*) into changed from blanked;
    delete from errand.progress where job_id = any ($1);
    delete from errand.action_change where job_id = any ($1);
    delete from errand.step where job_id = any ($1);
    -- A row may outlive its wait.
    delete from errand.signal_wait where job_id = any ($1);
    update errand.past_failure set error = 'erased', fingerprint = 'erased', subject = null
    where job_id = any ($1) and error <> 'erased';
    get diagnostics part = row_count;
    changed := changed + part;
    update errand.action set reason = $2
    where job_ids && $1 and job_ids <@ $1 and jobs = cardinality(job_ids) and reason <> $2;
    get diagnostics part = row_count;
    return changed + part;
end
$$;
