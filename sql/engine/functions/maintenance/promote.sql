-- promote: makes due scheduled jobs available, up to max_jobs, oldest first, and ends pauses whose time is over.
-- Returns the number of promoted jobs, and the last one's run_at.
--
-- since works like a worker's mark: no job is expected to be due before it (-infinity is always correct). A time in the
-- future is from before the server's clock was set back, and counts as 10 s ago.
create or replace function errand_internal.promote(
    max_jobs int default 1000, since timestamptz default '-infinity', out promoted int, out last_run_at timestamptz
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
declare
    start timestamptz := least(since, now() - interval '10 seconds');
begin
    perform set_config('synchronous_commit', 'off', true);
    with due as (
        update errand.job
        set state = 'available'
        where ctid = any (array(
            select waiting.ctid
            from errand.job as waiting
            where waiting.queue_position is null and waiting.run_at > start and waiting.run_at <= now()
                and waiting.parked_for is null and waiting.state = 'scheduled'
            order by waiting.run_at
            limit max_jobs
            for update skip locked))
        returning run_at
    )
    select count(*), max(run_at) into promoted, last_run_at from due;
    -- A pause that another session is changing stays as that session says.
    update errand.queue
    set paused_at = null, paused_reason = null, paused_until = null, paused_by = null
    where name in (select over.name from errand.queue as over where over.paused_until <= now() for update skip locked);
    if promoted > 0 or found then
        perform errand_internal.wake();
    end if;
end
$$;
