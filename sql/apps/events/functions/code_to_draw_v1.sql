-- code_to_draw_v1: returns the link of a QR code; no row if it is drawn already, or if its event is gone.
create or replace function events.code_to_draw_v1(code uuid) returns table (link text)
language sql stable security definer set search_path = pg_catalog, events, pg_temp as $$
    select existing.link
    from events.code as existing
    where existing.id = code_to_draw_v1.code and existing.drawn_at is null
$$;
