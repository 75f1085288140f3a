-- release_parked: releases parked jobs whose circuit is closed or whose limit has room.
--
-- A circuit closes after its probe has succeeded, or when the probe is due, even if no job is parked
-- any more.
--
-- Circuits come first, since completions lock in that order too. Limits are checked for 50 ms, those behind after_limit
-- first. Returns the last one if there are more, else null. Claims release the jobs of limits themselves
-- (errand_internal.release_limits). So this finds what a crash has left, a job that was parked while its limit got
-- room, and a limit that was raised.
create or replace function errand_internal.release_parked(after_limit text default null) returns text
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    waits_for text := 'circuit:';
    started timestamptz := clock_timestamp();
    key text;
begin
    if exists (select from errand.job where parked_for > 'limit:' and parked_for < 'order:') then
        perform from errand.limit where not has_slots limit 1 for update skip locked;
        if found then
            -- Claims wait until this transaction ends: once for each new limit.
            perform errand_internal.give_slots(waits => true);
        end if;
    end if;
    perform set_config('synchronous_commit', 'off', true);
    loop
        select parked_for into waits_for
        from errand.job
        where parked_for > waits_for and parked_for < 'crash'
        order by parked_for
        limit 1;
        exit when not found;
        perform errand_internal.release_circuit(substr(waits_for, length('circuit:') + 1));
    end loop;
    perform errand_internal.release_circuit(name)
    from errand.circuit
    where opened_at is not null and (probe_job_id is not null or until <= now());
    waits_for := 'limit:' || coalesce(after_limit, '');
    loop
        select parked_for into waits_for
        from errand.job
        where parked_for > waits_for and parked_for < 'order:'
        order by parked_for
        limit 1;
        if not found then
            return null;
        end if;
        key := substr(waits_for, length('limit:') + 1);
        -- Not under the lock if there is no room: the lock would delay claims.
        if (errand_internal.limit_of(key) <= (select count(*) from errand_internal.taken_slots(key))) is not true then
            perform errand_internal.scan_below_mark(key);
            exit when not errand_internal.lock_limits();
            perform errand_internal.release_limit(key);
        end if;
        exit when clock_timestamp() > started + interval '50 milliseconds';
    end loop;
    return key;
end
$$;
