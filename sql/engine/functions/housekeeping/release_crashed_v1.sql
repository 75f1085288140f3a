-- release_crashed_v1: puts one of the jobs back in line that were running in two crashes of their worker, unless another one
-- of them was put there, or has begun, less than a minute ago. Answers whether any wait for their turn.
--
-- Whichever of them ends its worker is in its third crash alone, and its neighbours of the first two get through. run_at
-- becomes the moment of its release.
create or replace function errand.release_crashed_v1() returns boolean
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
    if not exists (select from errand.job where parked_for = 'crash') then
        return false;
    end if;
    -- Two at once would each see none under way.
    if errand.try_lock('isolate') and not exists (
        select
        from errand.job
        where crashes >= 2 and queue_position is not null and greatest(run_at, started_at) > now() - interval '1 minute')
    then
        update errand.job
        set state = 'available', parked_for = null, run_at = now()
        where id = (
            select id
            from errand.job
            where parked_for = 'crash'
                and not exists (select from errand.queue as held where held.name = job.queue and held.paused_at is not null)
            order by priority, run_at, id
            limit 1
            for update skip locked);
        if found then
            perform errand.wake();
        end if;
    end if;
    return true;
end
$$;
comment on function errand.release_crashed_v1() is
    'Housekeeping: puts one job back in line that was running in two crashes of its worker, where no other such job is under way';
