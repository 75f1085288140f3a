-- promote_v1: puts scheduled jobs whose time has come in line, up to max_jobs, oldest first; ends pauses whose time
-- has.
--
-- since is a hint like a worker's mark: nothing is expected to be due before it (-infinity is always right). Returns
-- how many went in line, the last one's run_at, and whether anything waits for its time at all: where nothing does,
-- there is no need to ask several times a second.
create or replace function errand.promote_v1(max_jobs int, since timestamptz)
returns table (promoted int, last_run_at timestamptz, waits boolean)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
begin
    promoted := 0;
    waits := exists (select from errand.job where queue_position is null and parked_for is null and run_at > since)
        or exists (select from errand.queue where paused_until is not null);
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
            where waiting.queue_position is null and waiting.run_at > since and waiting.run_at <= now()
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
    return next;
end
$$;
comment on function errand.promote_v1(int, timestamptz) is
    'Housekeeping: puts scheduled jobs that are due in line; returns how many, the last one''s time, and whether more wait';
