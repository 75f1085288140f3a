-- code_to_draw_v1: returns the link of a QR code; no row if it is drawn already, or if its event is gone.
create or replace function events.code_to_draw_v1(code uuid) returns table (link text)
language sql stable security definer set search_path = pg_catalog, events, pg_temp as $$
    select known.link
    from events.code as known
    where known.id = code_to_draw_v1.code and known.drawn_at is null
$$;
