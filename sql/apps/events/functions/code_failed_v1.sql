-- code_failed_v1: records why a QR code can't be drawn.
create or replace function events.code_failed_v1(code uuid, error text) returns void
language sql security definer set search_path = pg_catalog, events, pg_temp as $$
    update events.code as existing
    set error = left(code_failed_v1.error, 1000)
    where existing.id = code_failed_v1.code and existing.drawn_at is null
$$;
