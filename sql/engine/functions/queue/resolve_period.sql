-- resolve_period: for errand_internal.insert_job: does what on_conflict of errand.enqueue asks where another job
-- (holder) has the unique key of a wanted one for a time. An unfinished job with the key is dealt with as by
-- errand_internal.resolve_conflict; else nothing is done.
--
-- Returns the same. Returns nulls if the key is free by now. Raises ER409 if on_conflict is error.
create or replace function errand_internal.resolve_period(
    wanted errand.job, on_conflict text, holder bigint, out job_id bigint, out state text, out outcome text
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
    if on_conflict = 'error' then
        raise exception 'enqueue: unique_key: expected one that no job has for a time, got that of job %', holder
            using errcode = 'ER409', hint = 'Its time ends if that job is cancelled or discarded.';
    elsif on_conflict <> 'keep' then
        select * into job_id, state, outcome from errand_internal.resolve_conflict(wanted, on_conflict);
        if job_id is not null then
            return;
        end if;
    end if;
    -- Unless the job was cancelled just now.
    if exists (
        select
        from errand.unique_period as existing
        where existing.unique_key = wanted.unique_key and existing.job_id = holder)
    then
        job_id := holder;
        state := coalesce(errand_internal.state_of(holder), 'ended');
        outcome := 'period';
    end if;
end
$$;
