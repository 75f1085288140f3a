-- card_failed_v1: records why a card can't be drawn.
create or replace function quotes.card_failed_v1(card uuid, error text) returns void
language sql security definer set search_path = pg_catalog, quotes, pg_temp as $$
    update quotes.card as held
    set error = left(card_failed_v1.error, 1000)
    where held.id = card_failed_v1.card and held.drawn_at is null
$$;
