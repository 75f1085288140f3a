-- card_failed_v1: records why a card can't be drawn, and tells the room `quotes`.
-- errand: after tell
create or replace function quotes.card_failed_v1(card uuid, error text) returns void
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
declare
    quote_id int;
begin
    update quotes.card as existing
    set error = left(card_failed_v1.error, 1000)
    where existing.id = card_failed_v1.card and existing.drawn_at is null
    returning existing.quote_id into quote_id;
    if found then
        perform quotes.tell('card_failed', quote_id, card);
    end if;
end
$$;
