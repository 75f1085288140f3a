-- release_crashed: releases one of the jobs that were running in two crashes of their worker, unless another one was
-- released or started less than a minute ago.
--
-- If the job crashes its worker again, it is alone in its third crash, and the other jobs of the first two get through.
-- run_at becomes the time of the release.
create or replace function errand_internal.release_crashed() returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
    -- Two sessions at once would each see none under way.
    if errand_internal.try_lock('crashed') and not exists (
        select
        from errand.job
        where crashes >= 2 and queue_position is not null
            and greatest(run_at, started_at) between now() - interval '1 minute' and clock_timestamp())
    then
        update errand.job
        set state = 'available', parked_for = null, run_at = now()
        where id = (
            select id
            from errand.job
            where parked_for = 'crash'
                and not exists (
                    select from errand.queue as existing where existing.name = job.queue
                        and existing.paused_at is not null)
            order by priority, run_at, id
            limit 1
            for update skip locked);
        if found then
            perform errand_internal.wake();
        end if;
    end if;
end
$$;
