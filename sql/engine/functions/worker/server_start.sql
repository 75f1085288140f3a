-- server_start: tells apart the server's starts. It differs after a restart, on another server (restored, promoted),
-- and after the server has recovered from a crash: then positions may be drawn a second time, and low-water marks are
-- void.
create or replace function errand.server_start() returns text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    -- Recovery from a crash leaves the postmaster running, and resets the statistics.
    select concat_ws(
        ' ', extract(epoch from pg_postmaster_start_time()), extract(epoch from pg_stat_get_bgwriter_stat_reset_time()))
$$;
comment on function errand.server_start() is
    'Differs after each start and each crash of the server: what workers know of positions is void then';
