-- has_time_for: returns whether this statement may call a guard once more. After 250 ms of guards it may not: the claim
-- or completion returns, and the next one goes on.
--
-- After that time, errand.guard gets the average time of a call, at most once in 10 s.
create or replace function errand_internal.has_time_for(guard text) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    -- Start of the statement, time of its first call, and number of calls since.
    asked text[] := string_to_array(current_setting('errand.guards_asked', true), ' ');
    statement constant text := extract(epoch from statement_timestamp());
    present constant double precision := extract(epoch from clock_timestamp());
    took double precision;
begin
    if asked[1] is distinct from statement then
        asked := array[statement, present::text, '0'];
    end if;
    took := present - asked[2]::double precision;
    if took > 0.25 then
        update errand.guard
        set slow_at = now(), slow_ms = took * 1000 / asked[3]::int
        where ctid = (
            select ctid
            from errand.guard as slow
            where slow.name = has_time_for.guard
                and (slow.slow_at between now() - interval '10 seconds' and now()) is not true
            for update skip locked);
        return false;
    end if;
    asked[3] := asked[3]::int + 1;
    perform set_config('errand.guards_asked', array_to_string(asked, ' '), true);
    return true;
end
$$;
