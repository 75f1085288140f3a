-- card_drawn_v1: takes the image of a card, and enqueues the job that stores it, in the transaction that completes the
-- drawing. Returns false if the card is gone or has an image already: then nothing is done.
create or replace function quotes.card_drawn_v1(card uuid, image bytea, width int, height int) returns boolean
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
declare
    existing quotes.card;
begin
    update quotes.card as target
    set drawn_at = clock_timestamp(), bytes = length(card_drawn_v1.image), width = card_drawn_v1.width,
        height = card_drawn_v1.height, error = null
    where target.id = card_drawn_v1.card and target.drawn_at is null
    returning * into existing;
    if not found then
        return false;
    end if;
    perform media.stage(null, existing.key, 'image/jpeg', null, card_drawn_v1.image);
    return true;
end
$$;
