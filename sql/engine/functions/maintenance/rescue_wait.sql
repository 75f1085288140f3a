-- rescue_wait: returns how long errand_internal.rescue has nothing to do, null if no worker is silent.
create or replace function errand_internal.rescue_wait() returns interval
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    has_work boolean;
    wait interval;
begin
    select
        bool_or(heartbeat_at > now() + interval '1 second' or is_silent and is_missed is not true),
        min(greatest(missed_at + 1.5 * heartbeat_interval, heartbeat_at + lease) - now()) filter (where is_missed)
    into has_work, wait
    from errand.worker
    cross join lateral (
        select
            -- Early enough for two calls before the end of the lease.
            heartbeat_at < now() - lease + 2 * heartbeat_interval,
            missed_at > heartbeat_at and missed_at between now() - 3 * heartbeat_interval and now()
    ) as state(is_silent, is_missed);
    if has_work
        or exists (
            select from errand.claim where not exists (select from errand.worker where worker.id = claim.worker_id))
        -- The flag that errand_internal.lower_wake_flag lowers.
        or pg_sequence_last_value('errand.wake_flag') = 2
            and not exists (select from errand.worker where heartbeat_at > now() - lease)
    then
        return interval '0';
    end if;
    return case when wait < interval '0' then interval '0' else wait end;
end
$$;
