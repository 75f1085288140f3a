-- check_rates: a maintenance task: gives reserved times that are due within 1 s, and that their jobs won't use, to
-- other jobs of their keys (errand_internal.fill_reservation), and the jobs of keys whose rate has changed new times
-- (errand_internal.respace_rate). memory is the time of the last run; null = all reserved times that have passed count.
-- is_more says that there is more to do.
--
-- Functions that cancel or change a job leave its reservation, which is filled when it is due. So no call but the claim
-- pays for rates, and no other takes the lock of the limits.
-- errand: after fill_reservation, is_reserved_for, respace_rate
create or replace function errand_internal.check_rates(inout memory text default null, out is_more boolean)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    began constant timestamptz := clock_timestamp();
    since constant timestamptz := coalesce(memory::timestamptz - interval '3 seconds', '-infinity');
    free errand.rate_reservation;
    unused errand.rate_reservation[];
    change errand.rate_change;
    any_moved boolean := false;
    filled int := 0;
begin
    is_more := false;
    unused := array(
        select reserved
        from errand.rate_reservation as reserved
        where reserved.start_at between since and began + interval '1 second'
            and not errand_internal.is_reserved_for(reserved)
        order by reserved.start_at
        limit 1000);
    if unused <> '{}' or exists (select from errand.rate_change) then
        if not errand_internal.lock_limits() then
            is_more := true;
            return;
        end if;
        perform set_config('synchronous_commit', 'off', true);
    end if;
    foreach free in array unused loop
        exit when clock_timestamp() > began + interval '50 milliseconds';
        any_moved := errand_internal.fill_reservation(free) or any_moved;
        filled := filled + 1;
    end loop;
    if any_moved then
        perform errand_internal.wake();
    end if;
    for change in select * from errand.rate_change order by id limit 1 for update skip locked loop
        perform errand_internal.respace_rate(rate_key)
        from (
            select distinct rate_key
            from errand.rate_clock as existing
            where existing.rate_key = change.rate_key
                or change.rate_key like '%*' and starts_with(existing.rate_key, left(change.rate_key, -1))) as used;
        delete from errand.rate_change where id = change.id;
        is_more := exists (select from errand.rate_change);
    end loop;
    if filled < cardinality(unused) or filled = 1000 then
        is_more := true;
        memory := coalesce(unused[filled].start_at::text, memory);
    else
        memory := date_trunc('second', began);
    end if;
end
$$;
