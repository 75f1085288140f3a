-- rotate_v1: stores the missing quotes from yesterday to 8 days ahead; returns their number.
-- errand: after write_days
create or replace function quotes.rotate_v1(today date default (now() at time zone 'UTC')::date) returns int
language sql security definer set search_path = pg_catalog, quotes, pg_temp as $$
    select quotes.write_days(today)
$$;
