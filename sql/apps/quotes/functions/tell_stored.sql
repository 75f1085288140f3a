-- tell_stored: trigger function that tells the room `quotes` when the store has a card.
-- errand: after tell
create or replace function quotes.tell_stored() returns trigger
language plpgsql set search_path = pg_catalog, quotes, pg_temp as $$
begin
    perform quotes.tell('card_stored', existing.quote_id, existing.id)
    from quotes.card as existing
    where existing.key = new.key collate "default";
    return null;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (
        select from pg_trigger where tgrelid = 'media.upload'::regclass and tgname = 'card_stored'
    ) then
        create trigger card_stored
        after update of delivered_at on media.upload
        for each row when (
            old.delivered_at is null and new.delivered_at is not null and new.photo is null
            and new.key like 'cards/%')
        execute function quotes.tell_stored();
        comment on trigger card_stored on media.upload is 'Tells the room quotes when the store has a card';
    end if;
end
$do$;
