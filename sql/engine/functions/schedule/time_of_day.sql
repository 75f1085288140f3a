-- time_of_day: returns the time on a clock, as 02:30, or 02:30:15 if it is no whole minute.
create or replace function errand_internal.time_of_day(local timestamp) returns text
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select to_char(local, case when extract(second from local) = 0 then 'HH24:MI' else 'HH24:MI:SS' end)
$$;
