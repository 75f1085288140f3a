-- release_limit: releases parked jobs of a limit while it has room: by priority, oldest first. Each job gets a slot. It
-- keeps it while it runs, and for a second before: see errand.slot_holders.
--
-- With a job, only those that come before it. The caller holds the lock of errand.lock_limits. Returns the slots that
-- are still free, at most 1,000; null = no limit, and at most 1,000 jobs were released.
create or replace function errand.release_limit(limit_key text, job errand.job default null) returns int[]
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    bound constant errand.limit := errand.bound_of(release_limit.limit_key);
    most constant int := bound.max_running;
    free int[];
    slow constant jsonb := errand.slow_queues(release_limit.limit_key);
    waiting record;
    last errand.limit_mark;
    drawn bigint;
    released bigint[] := '{}';
begin
    if most is not null then
        if not bound.has_slots then
            return '{}';
        end if;
        free := errand.free_slots(release_limit.limit_key, most, 1000);
        if free = '{}' then
            return free;
        end if;
    end if;
    for waiting in
        select *
        from errand.next_parked(
            release_limit.limit_key, coalesce(cardinality(free), 1000), release_limit.job, slow)
    loop
        if last.priority <> waiting.priority then
            perform errand.mark_parked(release_limit.limit_key, last.priority, last.run_at, last.job_id);
        end if;
        update errand.job
        set state = 'available', parked_for = null
        where id = waiting.job_id
        returning queue_position into drawn;
        released := released || waiting.job_id;
        if most is not null then
            perform errand.take_slots(
                array[release_limit.limit_key], array[free[cardinality(released)]], array[waiting.job_id],
                array[drawn]);
        end if;
        last.priority := waiting.priority;
        last.run_at := waiting.run_at;
        last.job_id := waiting.job_id;
    end loop;
    if released = '{}' and slow <> '{}' and job is null then
        perform errand.pass_parked(release_limit.limit_key);
    end if;
    if released <> '{}' then
        perform errand.mark_parked(release_limit.limit_key, last.priority, last.run_at, last.job_id);
        -- For a claim after errand.release_v1 in the same transaction: see errand.pick_released.
        if current_setting('errand.position_before', true) <> '' then
            perform set_config(
                'errand.released',
                (coalesce(nullif(current_setting('errand.released', true), '')::bigint[], '{}') || released)::text,
                true);
        end if;
        perform errand.wake();
    end if;
    return free[cardinality(released) + 1:];
end
$$;
