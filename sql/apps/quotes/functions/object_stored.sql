-- object_stored: tells the room `quotes` when the store has a card. For media.delivered_v1.
-- errand: after tell
create or replace function quotes.object_stored(key text, photo uuid) returns void
language plpgsql set search_path = pg_catalog, quotes, pg_temp as $$
begin
    perform quotes.tell('card_stored', existing.quote_id, existing.id)
    from quotes.card as existing
    where existing.key = object_stored.key collate "default";
end
$$;
