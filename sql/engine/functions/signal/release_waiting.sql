-- release_waiting: for maintenance: makes jobs available whose time to wait for a signal is over, and compares waits
-- with signals that they may have missed. Returns whether there may be more at once.
--
-- A wait and a signal that commit side by side don't see each other. So each wait is compared once more after all
-- transactions have ended that wrote signals when it was first seen, as with the marks of claims.
create or replace function errand_internal.release_waiting() returns boolean
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    most constant int := 1000;
    due bigint[];
    checks bigint[];
    job_ids bigint[];
    names text[];
    fresh bigint[];
begin
    perform set_config('synchronous_commit', 'off', true);
    due := array(select job_id from errand.signal_wait where until <= now() order by until limit most);
    perform errand_internal.release_waits(due);
    select array_agg(id), array_agg(job_id) filter (where job_id is not null), array_agg(name)
    into checks, job_ids, names
    from (
        select id, job_id, name
        from errand.signal_check
        where writers is not null and not exists (
            select from unnest(writers) as writer where not pg_visible_in_snapshot(writer, pg_current_snapshot()))
        order by id
        limit most
        for update skip locked) as checked;
    -- Before the comparison: that adds checks of jobs that it finds locked.
    delete from errand.signal_check where id = any (checks);
    perform errand_internal.release_waits(
        job_ids || array(select job_id from errand.signal_wait where signal_wait.name = any (names)));
    -- An older snapshot doesn't show what the transactions have written that ended after it.
    if current_setting('transaction_isolation') = 'read committed' then
        fresh := array(
            select id from errand.signal_check where writers is null order by id limit most for update skip locked);
        if fresh <> '{}' then
            update errand.signal_check set writers = errand_internal.writers_of('errand.signal') where id = any (fresh);
        end if;
    end if;
    return cardinality(due) = most or coalesce(cardinality(checks), 0) = most;
end
$$;
