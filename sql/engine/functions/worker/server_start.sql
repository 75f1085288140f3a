-- server_start: returns a text that differs after each restart of the server, on another server (restored, promoted),
-- and after recovery from a crash. Then positions may be drawn a second time, and all marks are void.
create or replace function errand_internal.server_start() returns text
-- Not in SQL: that would be planned in each call.
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    -- Recovery from a crash keeps the postmaster running, and resets the statistics.
    return concat_ws(
        ' ', extract(epoch from pg_postmaster_start_time()),
        extract(epoch from pg_stat_get_bgwriter_stat_reset_time()));
end
$$;
