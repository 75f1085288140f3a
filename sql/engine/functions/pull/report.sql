-- report: stores how far a pulled job is, for errand.job_progress and errand.job: a fraction, clamped to 0 to 1, a
-- message of at most 1,000 characters, what it has put out so far. Null stays as it was. Returns whether the job is
-- still the worker's.
--
--   select errand.report('2a.1.3f', 0.4, '40 of 100 sent');
-- errand: for worker
-- errand: topic pull
create or replace function errand.report(
    token text, progress double precision default null, message text default null, output jsonb default null
) returns boolean
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    commits constant text := current_setting('synchronous_commit');
    existing errand.job;
begin
    select one.* into existing
    from errand_internal.read_tokens(array[report.token]) as named
    -- By its id: a join might read all of errand.job.
    cross join lateral (
        select *
        from errand.job
        where job.id = named.id and coalesce(job.queue_position, 0) = named.queue_position
            and job.worker_id = named.worker_id and job.state = 'running'
        offset 0) as one;
    if existing.id is null then
        return false;
    end if;
    perform errand_internal.record_progress_v1(jsonb_build_array(jsonb_build_object(
        'job_id', existing.id, 'queue_position', existing.queue_position, 'attempt', existing.attempt,
        'fraction', case when report.progress is not null then least(1, greatest(0, report.progress)) end,
        'message', report.message, 'output', report.output)));
    if current_setting('synchronous_commit') <> commits then
        -- The caller's own writes, if any, commit as it wants.
        perform set_config('synchronous_commit', commits, true);
    end if;
    return true;
end
$$;
