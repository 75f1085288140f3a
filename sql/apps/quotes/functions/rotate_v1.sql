-- rotate_v1: stores the missing quotes from yesterday to 8 days ahead; returns their number. Tells the room `quotes` if
-- there are new ones.
-- errand: after tell, write_days
create or replace function quotes.rotate_v1(today date default (now() at time zone 'UTC')::date) returns int
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
declare
    written constant int := quotes.write_days(rotate_v1.today);
begin
    if written > 0 then
        perform quotes.tell('rotated');
    end if;
    return written;
end
$$;
