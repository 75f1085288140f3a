-- release_waiting: for maintenance: makes jobs available whose time to wait for a signal is over, and compares waits
-- with signals that they may have missed. Returns whether there may be more at once.
--
-- A wait and a signal that commit side by side don't see each other. So each wait is compared once more after all
-- transactions have ended that ran when it was first seen, as with the marks of claims.
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
    ceiling bigint;
begin
    perform set_config('synchronous_commit', 'off', true);
    due := array(select job_id from errand.signal_wait where until <= now() order by until limit most);
    perform errand_internal.release_waits(due);
    select array_agg(id), array_agg(job_id) filter (where job_id is not null), array_agg(name)
    into checks, job_ids, names
    from (
        select id, job_id, name
        from errand.signal_check
        where after <= pg_snapshot_xmin(pg_current_snapshot())
        order by id
        limit most
        for update skip locked) as checked;
    -- Before the comparison: that adds checks of jobs that it finds locked.
    delete from errand.signal_check where id = any (checks);
    perform errand_internal.release_waits(
        job_ids || array(select job_id from errand.signal_wait where signal_wait.name = any (names)));
    fresh := array(
        select id from errand.signal_check where after is null order by id limit most for update skip locked);
    if fresh <> '{}' then
        -- Above each transaction that runs: it may have drawn its id and read the waits before these were committed. A
        -- snapshot's xmax doesn't say that, since it is one above the newest id that has ended. pg_locks has 32 bits of
        -- an id, and this adds the others.
        ceiling := pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000000000;
        update errand.signal_check
        set after = (
            select (1 + max(ceiling - ((ceiling - transactionid::text::bigint) & 4294967295)))::text::xid8
            from pg_locks
            where locktype = 'transactionid' and mode = 'ExclusiveLock')
        where id = any (fresh);
    end if;
    return cardinality(due) = most or coalesce(cardinality(checks), 0) = most;
end
$$;
