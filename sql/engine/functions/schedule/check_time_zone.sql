-- check_time_zone: raises ER422 for a text that is no IANA time zone, in its exact spelling.
--
-- PostgreSQL itself also accepts rules such as FOO+3, whose clocks never change, and any case.
create or replace function errand_internal.check_time_zone(zone text) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp set timezone = 'UTC' as $$
declare
    is_known boolean := false;
begin
    if zone ~ '[0-9]' then
        is_known := exists (select from pg_timezone_names where name = zone);
    elsif zone ~ '^[A-Za-z]' then
        begin
            -- The setting lasts until this function returns. Reading the view above takes 50 ms, this some
            -- microseconds.
            perform set_config('timezone', zone, true);
            is_known := current_setting('timezone') = zone;
        exception when invalid_parameter_value then
            is_known := false;
        end;
    end if;
    if not is_known then
        raise exception 'time zone: expected an IANA name such as Europe/Paris, got %',
            coalesce(nullif(left(zone, 100), ''), 'nothing') using errcode = 'ER422';
    end if;
end
$$;
