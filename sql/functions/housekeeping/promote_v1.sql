-- promote_v1: puts scheduled jobs whose time has come in line, up to max_jobs, oldest first; ends pauses whose time has.
--
-- Parked jobs whose dependency is up or whose limit has room go in line too; they are not counted.
--
-- since is a hint like a worker's mark: nothing is expected to be due before it (-infinity is always right). Returns how
-- many went in line, and the last one's run_at.
create or replace function errand.promote_v1(max_jobs int, since timestamptz)
returns table (promoted int, last_run_at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
    promoted := 0;
    -- One at a time is enough; two would do no harm.
    if not errand.try_lock('promote') then
        return next;
        return;
    end if;
    perform set_config('synchronous_commit', 'off', true);
    with due as (
        update errand.job
        set state = 'available'
        where ctid = any (array(
            select waiting.ctid
            from errand.job as waiting
            where waiting.line is null and waiting.run_at > since and waiting.run_at <= now()
                and waiting.parked_for is null and waiting.state = 'scheduled'
            order by waiting.run_at
            limit max_jobs
            for update skip locked))
        returning run_at
    )
    select count(*), max(run_at) into promoted, last_run_at from due;
    -- Whoever is changing a pause just now decides.
    update errand.queue
    set paused_at = null, paused_reason = null, paused_until = null, paused_by = null
    where name in (select over.name from errand.queue as over where over.paused_until <= now() for update skip locked);
    if promoted > 0 or found then
        perform errand.wake();
    end if;
    perform errand.release_parked();
    return next;
end
$$;
comment on function errand.promote_v1(int, timestamptz) is
    'Housekeeping: puts scheduled jobs that are due in line; returns how many and the last one''s time';
